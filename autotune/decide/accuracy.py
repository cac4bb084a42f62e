"""Non-inferiority to float32 with paired seeds.

For seed s let d_s = metric(candidate, s) - metric(baseline, s), turned so that higher is better. The candidate is
non-inferior when the mean of d is above -margin. With n seeds the one-sided bounds are

    mean(d) +- t(1 - level, n - 1) * sd(d) / sqrt(n)

PASS: the lower bound is above -margin. FAIL: the upper bound is below it. Otherwise INCONCLUSIVE. (Non-inferiority by a
confidence bound: FDA guidance "Non-Inferiority Clinical Trials", 2016; paired t: any statistics text.)

Looks are fixed beforehand: after 3, 4 and 5 seeds, or after 3, 5 and 7 when the baseline's own spread is above 0.6 of
the margin, each at a one-sided level of 0.0225, which holds the error over all three looks at 5 % (three uncorrected
looks at 5 % give 12 %). The paired variance is the candidate's own: candidates differ in theirs by a factor of several,
and one that is noisier than a pool would pass too easily. Assumed: differences that are near enough to normal, and
seeds drawn alike for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from autotune.trial import Accuracy, AccuracyVerdict, Interval

LOOK_LEVEL = 0.0225
"""One-sided level of each of three looks."""

_NOISY_SHARE = 0.6
_QUIET_LOOKS = (3, 4, 5)
_NOISY_LOOKS = (3, 5, 7)
_MOST_SEEDS = 200


def looks(baseline_spread: float | None, margin: float) -> tuple[int, int, int]:
    """The numbers of seeds at which the verdict is looked at, fixed before any candidate is confirmed.

    Args:
        baseline_spread: standard deviation of the baseline's metric over its seeds; None if unknown.
        margin: absolute, in the same unit.
    """
    noisy = baseline_spread is not None and baseline_spread > _NOISY_SHARE * margin
    return _NOISY_LOOKS if noisy else _QUIET_LOOKS


def gate(deltas: Sequence[float], margin: float) -> bool:
    """Whether a candidate goes on from the verify stage: mean(d) > -margin / 2. A gate makes no claim."""
    return sum(deltas) / len(deltas) > -margin / 2


def spread(values: Sequence[float]) -> float | None:
    """Sample standard deviation; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def judge(
    deltas: Sequence[float],
    seeds: Sequence[int],
    margin: float,
    *,
    level: float = LOOK_LEVEL,
    resolution: float = 0.0,
) -> Accuracy:
    """The verdict on paired differences.

    Args:
        deltas: candidate minus baseline, higher is better, one a seed; at least two.
        seeds: as many.
        margin: how far the mean may lie below zero, above 0.
        level: one-sided level of this look (divide it by the number of finalists that may be confirmed).
        resolution: the metric's step, such as 1 / examples for accuracy. Differences of a coarse metric can agree by
            rounding alone, so the spread is never taken as less than that of a difference of two rounded values,
            resolution / sqrt(6).

    Raises:
        ValueError: fewer than two differences, or not one seed for each.
    """
    n = len(deltas)
    if n != len(seeds):
        raise ValueError(f"each difference has its seed, but got {n} and {len(seeds)}")
    own = spread(deltas)
    if own is None:
        raise ValueError(f"a verdict needs at least 2 paired differences, but got {n}")
    sd = max(own, resolution / math.sqrt(6))
    mean = sum(deltas) / n
    half = _quantile(level, n) * sd / math.sqrt(n)
    if mean - half > -margin:
        verdict, needed = AccuracyVerdict.PASS, None
    elif mean + half < -margin:
        verdict, needed = AccuracyVerdict.FAIL, None
    else:
        verdict, needed = AccuracyVerdict.INCONCLUSIVE, seeds_needed(mean, sd, margin, level=level)
    interval = Interval(mean, mean - half, mean + half, 1 - 2 * level, n, "paired t over seeds")
    return Accuracy(verdict, interval, tuple(deltas), tuple(seeds), margin, level, needed)


def seeds_needed(mean: float, sd: float, margin: float, *, level: float = LOOK_LEVEL) -> int | None:
    """Fewest seeds that would decide, if mean and spread stay as they are; None above 200."""
    distance = abs(mean + margin)
    for n in range(2, _MOST_SEEDS + 1):
        if _quantile(level, n) * sd / math.sqrt(n) < distance:
            return n
    return None


def resolvable_margin(sd: float, seeds: int, *, level: float = LOOK_LEVEL) -> float:
    """The smallest margin that `seeds` paired differences of spread `sd` can show for a candidate with no true loss."""
    return _quantile(level, seeds) * sd / math.sqrt(seeds)


@lru_cache(maxsize=1024)
def _quantile(level: float, n: int) -> float:
    from scipy import stats

    return float(stats.t.ppf(1 - level, n - 1))


def paired_proportion(n: int, only_candidate: int, only_baseline: int, level: float = 0.95) -> Interval:
    """Difference of two accuracies on the same examples, candidate minus baseline.

    Wald interval with the Agresti-Min adjustment (add half an example to each cell of the table; Agresti and Min,
    Statistics in Medicine 24, 2005), from examples that only one of the two gets right.

    Args:
        n: examples.
        only_candidate: examples that only the candidate gets right.
        only_baseline: examples that only the baseline gets right.
        level: two-sided confidence.
    """
    from scipy import stats

    total, b, c = n + 2, only_candidate + 0.5, only_baseline + 0.5
    centre = (b - c) / total
    half = float(stats.norm.ppf((1 + level) / 2)) * math.sqrt((b + c) - (b - c) ** 2 / total) / total
    low, high = max(-1.0, centre - half), min(1.0, centre + half)
    return Interval((only_candidate - only_baseline) / n, low, high, level, n, "paired proportions")
