"""The study's wall clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class Budget:
    """How much of the wall clock is left.

    Args:
        total_s: the whole study's limit [s]; None for no limit.
        clock: seconds that never go back.
    """

    def __init__(self, total_s: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.total_s = total_s
        self._clock = clock
        self._began = clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the study began."""
        return self._clock() - self._began

    @property
    def remaining_s(self) -> float:
        """Seconds left; infinite without a limit, never negative."""
        return math.inf if self.total_s is None else max(0.0, self.total_s - self.elapsed_s)

    def allows(self, cost_s: float, reserve_s: float = 0.0) -> bool:
        """Whether something of this cost still fits, with so much kept back for what must follow."""
        return cost_s + reserve_s <= self.remaining_s
