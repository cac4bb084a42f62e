"""The console as a sink of the record: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import IO

from autotune.console.live import LiveSink
from autotune.console.plain import PlainSink
from autotune.console.terminal import open_console, redraws
from autotune.record.record import Sink


def console_sink(
    *,
    live: bool = True,
    tracking_hint: str = "",
    stream: IO[str] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Sink:
    """The console that suits a stream.

    Args:
        live: `console.live`: redraw a table where the stream can.
        tracking_hint: how to see the trials in the tracker, such as a command; shown in the last panel.
        stream: standard output by default.
        clock: monotonic [s].
    """
    stream = stream or sys.stdout
    if live and redraws(stream):
        return LiveSink(open_console(stream), tracking_hint, clock)
    return PlainSink(stream, tracking_hint, clock)
