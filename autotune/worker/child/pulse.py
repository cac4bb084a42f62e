"""Signs of life in the middle of a long operation, so that a hang is told from a training of hours."""

from __future__ import annotations

import contextlib
import os
import time

# The parent counts silence in minutes.
_RAREST_S = 1.0


class Pulse:
    """Called at each step of the work; tells the parent now and then.

    Args:
        write_fd: the pipe of answers; an empty line there is a sign of life.
    """

    def __init__(self, write_fd: int) -> None:
        self._write_fd = write_fd
        self._owner = os.getpid()
        self._told_s = time.monotonic()

    def __call__(self) -> None:
        """Tell, if the last time is long enough ago."""
        now = time.monotonic()
        if now - self._told_s >= _RAREST_S and os.getpid() == self._owner:  # a forked copy is none of the parent's
            self._told_s = now
            with contextlib.suppress(OSError):  # that the parent is gone is not for a training step to tell
                os.write(self._write_fd, b"\n")
