"""What a stream can show: whether it redraws, and which characters it takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import IO, Any

from rich.console import Console

_PLAIN_WIDTH = 100


class SafeStream:
    """A text stream that writes `?` for what its encoding lacks, instead of raising in the middle of a study."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write all that can be encoded."""
        return self._stream.write(text.encode(self.encoding, "replace").decode(self.encoding))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def redraws(stream: IO[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the stream is a terminal that can move its cursor."""
    return stream.isatty() and environment.get("TERM", "") not in ("dumb", "unknown")


def open_console(stream: IO[str] | None = None) -> Console:
    """A console on the stream; colour only on a terminal and without NO_COLOR, boxes in ASCII without UTF-8.

    Nothing that it prints is read as markup: names come from people.
    """
    stream = stream or sys.stdout
    terminal = redraws(stream)
    return Console(
        file=SafeStream(stream),  # type: ignore[arg-type]  # what rich needs of a stream, and no more
        force_terminal=terminal,
        width=None if terminal else _PLAIN_WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
    )
