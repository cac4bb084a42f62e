"""When a model has run long enough for its step time to be taken."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

# A step time falls by tens of per cent while caches, clocks and allocators settle. A block on a shared machine varies
# by some per cent by itself, and to wait for better would only spend the time; what is left of a fall falls on both
# models alike.
_AGREE = 0.1

_FEWEST_BLOCKS = 3


def agree(step_ms: Sequence[float]) -> bool:
    """Whether the median of the last two blocks agrees with the block before them; two, so that one chance is none."""
    if len(step_ms) < _FEWEST_BLOCKS:
        return False
    before = step_ms[-3]
    return abs(statistics.median(step_ms[-2:]) - before) <= _AGREE * before


def warm_up(
    blocks_ms: Callable[[float, int], list[float]],
    first_ms: float,
    most_s: float,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Run blocks until they agree or the time is up; what follows is measured in either case, and its interval tells.

    Args:
        blocks_ms: runs so many blocks, given the last known step time, and returns the step time of each [ms].
        first_ms: step time of the first execution after the one that compiled; a short block, but one.
        most_s: no block beyond the fewest that can agree begins after this [s].

    Returns:
        Step time of each block [ms], the first one included.
    """
    began = clock()
    taken = [first_ms, *blocks_ms(first_ms, _FEWEST_BLOCKS - 1)]
    while not agree(taken) and clock() - began < most_s:
        taken += blocks_ms(taken[-1], 1)
    return taken
