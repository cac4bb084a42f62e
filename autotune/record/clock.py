"""How long a study has run."""

from __future__ import annotations

import time
from collections.abc import Callable


class StudyClock:
    """Seconds that a study has run, over all of its sessions. A wall clock that jumps does not move it.

    Args:
        before_s: what earlier sessions took [s].
        monotonic: seconds that never go back.
    """

    def __init__(self, before_s: float = 0.0, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._zero = monotonic() - before_s

    def __call__(self) -> float:
        """Seconds since the study began, without the time between sessions."""
        return self._monotonic() - self._zero
