"""What a study may take."""

from __future__ import annotations

import math
from collections.abc import Callable


class Budget:
    """How much of the wall clock is left.

    Args:
        total_s: the whole study's limit, over all its sessions [s]; None for no limit.
        elapsed: what the study has taken so far, by its record and not by a clock [s]: a later session that reads the
            same record then decides alike.
    """

    def __init__(self, total_s: float | None, elapsed: Callable[[], float]) -> None:
        self.total_s = total_s
        self._elapsed = elapsed

    @property
    def elapsed_s(self) -> float:
        """What the study has taken so far [s]."""
        return self._elapsed()

    @property
    def remaining_s(self) -> float:
        """Seconds left; infinite without a limit, never negative."""
        return math.inf if self.total_s is None else max(0.0, self.total_s - self.elapsed_s)

    def allows(self, cost_s: float, reserve_s: float = 0.0) -> bool:
        """Whether something of this cost still fits, with so much kept back for what must follow."""
        return cost_s + reserve_s <= self.remaining_s

    def refusal(self, cost_s: float) -> str:
        """Why something that takes `cost_s` [s], with all that must follow it, is not begun; empty where it fits."""
        if self.allows(cost_s):
            return ""
        return f"{self.remaining_s:.0f} s of the budget are left, and it takes about {cost_s:.0f} s to its end"
