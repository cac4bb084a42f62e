"""Which of two candidates beats the other in both throughput and accuracy, by what was measured of them.

Both were timed against the baseline, and trained on the same seeds as it: the difference between their paired
differences is a paired difference of the two. Nothing is assumed about a candidate that was not trained: it may be the
most accurate of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autotune.decide import accuracy
from autotune.trial import AccuracyVerdict, Interval

# One-sided, as the looks of a verdict are.
_LEVEL = 0.025


@dataclass(frozen=True, slots=True)
class Measured:
    """One candidate.

    Attributes:
        speedup: over the baseline.
        deltas: by seed, its metric less the baseline's, oriented so that higher is better [metric's unit].
    """

    speedup: Interval
    deltas: Mapping[int, float]


def is_faster(one: Interval, other: Interval) -> bool:
    """Whether the whole interval of one speedup is above that of the other."""
    return one.low > other.high


def out_of_reach(own: Measured, other: Measured, margin: float) -> bool:
    """Whether a candidate in training could come up with a faster one only by beating it on all that is left.

    It is what the accuracy gate asks of float32, asked of `other`: to be as accurate on average, it would have to be
    better than that by more than a margin on each of the seeds that are left.

    Args:
        own: with the seeds so far, at least one.
        other: trained on all seeds.
        margin: of the accuracy constraint [metric's unit].
    """
    left = len(other.deltas.keys() - own.deltas.keys())
    if not left or not is_faster(other.speedup, own.speedup):
        return False
    behind = sum(other.deltas[seed] - delta for seed, delta in own.deltas.items() if seed in other.deltas)
    return behind / left > margin


def beats(one: Measured, other: Measured, margin: float, resolution: float = 0.0) -> bool:
    """Whether `one` is clearly faster, and shown to be not less accurate than `other` within the margin.

    Args:
        one, other: trained on at least two common seeds, else nothing is shown.
        margin: of the accuracy constraint [metric's unit].
        resolution: the metric's smallest step, see `accuracy.judge`.
    """
    seeds = [seed for seed in one.deltas if seed in other.deltas]
    if len(seeds) < 2 or not is_faster(one.speedup, other.speedup):
        return False
    deltas = [one.deltas[seed] - other.deltas[seed] for seed in seeds]
    margins = [margin] * len(seeds)
    found = accuracy.judge(deltas, seeds, margins, level=_LEVEL, resolution=resolution)
    return found.verdict is AccuracyVerdict.PASS
