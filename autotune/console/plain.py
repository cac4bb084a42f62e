"""Plain lines, for a pipe, a log file or a terminal that cannot redraw. No control characters, no colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

from autotune.console.lines import lines_of
from autotune.console.panel import to_copy
from autotune.console.progress import Progress
from autotune.console.terminal import SafeStream
from autotune.record.events import Event, SinkFailed
from autotune.record.view import StudyView
from autotune.report import phrases
from autotune.report.answer import answer

_ABOUT_COLUMNS = 9
_TRIAL_COLUMNS = 4


class PlainSink:
    """A sink that prints one line an event worth reading, after the time since the study started.

    Args:
        stream: where to print.
        tracking_hint: how to see the trials in the tracker, for the last lines.
        clock: monotonic [s].
    """

    name = "console"

    def __init__(self, stream: IO[str], tracking_hint: str, clock: Callable[[], float]) -> None:
        self._stream = SafeStream(stream)
        self._hint = tracking_hint
        self._clock = clock
        self._view = StudyView()
        self._progress = Progress()
        self._failed_sinks: list[str] = []

    def on_event(self, event: Event) -> None:
        """Print the event's lines."""
        self._view.apply(event)
        now_s = self._clock()
        self._progress.on_event(event, self._view.stage.stage if self._view.stage is not None else None, now_s)
        if isinstance(event, SinkFailed):
            self._failed_sinks.append(f"{event.sink} did not take everything: {phrases.one_line(event.message)}")
        elapsed = phrases.clock(self._progress.elapsed_s(now_s))
        for about, trial, text in lines_of(event, self._view):
            number = f"{'#' + trial if trial else '':>{_TRIAL_COLUMNS}}"
            self._print(f"[{elapsed:>7}]  {about:<{_ABOUT_COLUMNS}}{number}  {text}")

    def on_replayed(self, event: Event, at_s: float) -> None:  # noqa: ARG002 (the sinks' protocol)
        """Know the event, which was printed when it happened."""
        self._view.apply(event)

    def close(self) -> None:
        """Print the answer, if the study came to one."""
        if self._view.decided is None:
            return
        result = answer(self._view)
        self._print("")
        self._print(result.headline)
        self._print("-" * len(result.headline))
        for warning in (*result.warnings, *self._failed_sinks):
            self._print(f"WARNING: {warning}")
        rows = (*result.rows, *to_copy(result, self._hint), ("exit status", result.exit_meaning))
        room = max(len(label) for label, _ in rows) + 2
        for label, text in rows:
            self._print(f"{label:<{room}}{text}")

    def _print(self, line: str) -> None:
        self._stream.write(line.rstrip() + "\n")
        self._stream.flush()
