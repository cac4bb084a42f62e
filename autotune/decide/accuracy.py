"""Non-inferiority to float32 with paired seeds.

For seed s let d_s = metric(candidate, s) - metric(baseline, s), turned so that higher is better. The candidate is
non-inferior when the mean of d is above -margin. With n seeds the one-sided bounds are

    mean(d) +- t(1 - level, f) * sd / sqrt(n)

PASS: the lower bound is above -margin. FAIL: the upper bound is below it. Otherwise INCONCLUSIVE. (Non-inferiority by a
confidence bound: FDA guidance "Non-Inferiority Clinical Trials", 2016.)

**Mean and spread.** The mean is that of the confirmation's new seeds alone: the verify stage picked the candidate by
its mean there, which is biased for that. The spread is taken over the verify stage's seeds too, each group about its
own mean, with f = (n - 1) + (g - 1) degrees of freedom. For normal differences the variance of a sample is independent
of its mean, so that a gate that looked at the mean has not biased it (the two-stage argument of Stein, "A two-sample
test for a linear hypothesis whose power is independent of the variance", Annals of Mathematical Statistics 16, 1945).
It costs no training and is worth one: at three seeds t(3) = 4.4 instead of t(2) = 6.6 at the level of the first look.
The spread is always the candidate's own. One that is pooled over unlike candidates lets noisy ones pass too easily.

**Looks** are fixed beforehand, and their levels rise, 1 : 2 : 3, since few seeds are a poor witness. Simulated with
normal noise and a true loss of exactly the margin, all three looks together pass 4.6 % of candidates (4.9 % over two
finalists that share the level), 3-5-7 4.6 % (4.8 %). Three uncorrected looks at 5 % pass 9.4 %. Differences with
heavy symmetric tails, or whose size depends on the seed, pass less often. **Skewed differences pass more often**: where
one training in ten collapses, five seeds show none of it with probability 0.59, and no test on five seeds can tell.
Which of the two schedules it is depends on the baseline's spread over seeds that the gate uses too: averaged over that
choice the error is the one above; where all noise is the baseline's own and it happened to look quiet, it is 7 %.
`tests/benchmarks/truth` prints all of it.

Assumed: differences near enough to normal, and seeds drawn alike for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from autotune.trial import Accuracy, AccuracyVerdict, Interval


@dataclass(frozen=True, slots=True)
class Look:
    """A number of seeds at which the verdict is looked at, and the one-sided level of that look."""

    seeds: int
    level: float


GATE = 0.75
"""Share of the margin that a candidate's mean difference may lose on the gate's seeds and still be confirmed.

Simulated with two seeds and normal noise of 0.3 margins: of candidates that lose 0.4 margins 95 % go through it (68 %
with a gate at 0.5), and of those that lose the whole margin 12 % (50 % with a gate at the margin itself).
"""

# A quiet baseline's runs agree so well that a fourth and fifth seed settle what three left open. Unrelated runs differ
# by sqrt(2) times the spread of one, so that a spread of 0.35 margins means differences of half a margin.
_NOISY_SHARE = 0.35
_QUIET = (Look(3, 0.011), Look(4, 0.022), Look(5, 0.033))
_NOISY = (Look(3, 0.010), Look(5, 0.020), Look(7, 0.030))
_MOST_SEEDS = 200


def looks(baseline_spread: float | None, margin: float, *, fewest: int = 3, verdicts: int = 1) -> tuple[Look, ...]:
    """When the verdict is looked at and at which level, fixed before any candidate is confirmed.

    Args:
        baseline_spread: standard deviation of the baseline's metric over its seeds; None if unknown.
        margin: absolute, in the same unit.
        fewest: no look is at fewer seeds; those that would be are one at this number, with the highest of their levels.
        verdicts: how many finalists' verdicts may be looked at; each has an equal share of the level.
    """
    noisy = baseline_spread is not None and baseline_spread > _NOISY_SHARE * margin
    levels = {max(look.seeds, fewest): look.level / verdicts for look in (_NOISY if noisy else _QUIET)}
    return tuple(Look(seeds, level) for seeds, level in sorted(levels.items()))


def gate(deltas: Sequence[float], margins: Sequence[float]) -> bool:
    """Whether a candidate goes on from the verify stage: mean(d) > -GATE * mean(margin). A gate makes no claim."""
    return sum(deltas) > -GATE * sum(margins)


def spread(values: Sequence[float]) -> float | None:
    """Sample standard deviation; None for fewer than two values."""
    return math.sqrt(_squares(values) / (len(values) - 1)) if len(values) > 1 else None


def judge(
    deltas: Sequence[float],
    seeds: Sequence[int],
    margins: Sequence[float],
    *,
    level: float,
    pilot: Sequence[float] = (),
    resolution: float = 0.0,
) -> Accuracy:
    """The verdict on paired differences.

    Args:
        deltas: candidate minus baseline, higher is better, one a seed; at least two.
        seeds: as many.
        margins: how far below zero each difference may lie on average, above 0; as many. They are equal, unless the
            margin is a share r of float32's own metric b: then r * |b_s|, and what is judged is the mean of
            d_s + r * |b_s|, a contrast of two paired runs as any other, so that the noise of b is part of its spread.
            (Against r times the mean of b the error would reach 45 % instead of 5 %, where b varies.)
        level: one-sided level of this look.
        pilot: d + margin on earlier seeds of the same candidate; only their spread counts.
        resolution: the metric's step, such as 1 / examples for accuracy. Differences of a coarse metric can agree by
            rounding alone, so the spread is never taken as less than that of a difference of two rounded values,
            resolution / sqrt(6).

    Raises:
        ValueError: fewer than two differences, or not one seed and one margin for each.
    """
    n = len(deltas)
    if not n == len(seeds) == len(margins):
        raise ValueError(f"each difference has its seed and margin, but got {n}, {len(seeds)} and {len(margins)}")
    if n < 2:
        raise ValueError(f"a verdict needs at least 2 paired differences, but got {n}")
    above = [delta + margin for delta, margin in zip(deltas, margins, strict=True)]
    freedom = n - 1 + _freedom(pilot)
    sd = max(math.sqrt((_squares(above) + _squares(pilot)) / freedom), resolution / math.sqrt(6))
    mean, margin = sum(deltas) / n, sum(margins) / n
    half = _quantile(level, freedom) * sd / math.sqrt(n)
    if mean - half > -margin:
        verdict, needed = AccuracyVerdict.PASS, None
    elif mean + half < -margin:
        verdict, needed = AccuracyVerdict.FAIL, None
    else:
        verdict, needed = AccuracyVerdict.INCONCLUSIVE, seeds_needed(mean, sd, margin, level=level, pilot=len(pilot))
    method = "paired t over seeds" if len(pilot) < 2 else f"paired t over seeds, spread over {n + len(pilot)}"
    interval = Interval(mean, mean - half, mean + half, 1 - 2 * level, n, method)
    return Accuracy(verdict, interval, tuple(deltas), tuple(seeds), margin, level, needed)


def seeds_needed(mean: float, sd: float, margin: float, *, level: float, pilot: int = 0) -> int | None:
    """Fewest seeds in all that would decide, if mean and spread stay as they are; None above 200.

    Args:
        mean: of the paired differences.
        sd: their standard deviation.
        margin: absolute.
        level: one-sided.
        pilot: earlier seeds, of which only the spread counts.
    """
    distance = abs(mean + margin)
    for n in range(2, _MOST_SEEDS + 1):
        if resolvable_margin(sd, n, level=level, pilot=pilot) < distance:
            return n
    return None


def resolvable_margin(sd: float, seeds: int, *, level: float, pilot: int = 0) -> float:
    """The smallest margin that `seeds` paired differences of spread `sd` can show for a candidate with no true loss."""
    return _quantile(level, seeds - 1 + max(0, pilot - 1)) * sd / math.sqrt(seeds)


def _squares(values: Sequence[float]) -> float:
    """Sum of squares about the mean; 0 for no value."""
    mean = sum(values) / max(1, len(values))
    return sum((value - mean) ** 2 for value in values)


def _freedom(values: Sequence[float]) -> int:
    return max(0, len(values) - 1)


@lru_cache(maxsize=1024)
def _quantile(level: float, freedom: int) -> float:
    from scipy import special  # a third of the import of scipy.stats, for the same function

    return float(special.stdtrit(freedom, 1 - level))


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
    from scipy import special

    total, b, c = n + 2, only_candidate + 0.5, only_baseline + 0.5
    centre = (b - c) / total
    half = float(special.ndtri((1 + level) / 2)) * math.sqrt((b + c) - (b - c) ** 2 / total) / total
    low, high = max(-1.0, centre - half), min(1.0, centre + half)
    return Interval((only_candidate - only_baseline) / n, low, high, level, n, "paired proportions")
