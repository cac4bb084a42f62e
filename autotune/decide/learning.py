"""How soon a training gets there: a batch that steps faster may learn slower, and no step time shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autotune.decide.timing import LEVEL, pooled_speedup
from autotune.trial import EpochPoint, Interval, TimeToAccuracy, TrainingRun


def time_to(curve: Sequence[EpochPoint], target: float, *, higher: bool) -> float | None:
    """Training time at which the metric first reaches `target` [s]; None if it does not.

    Between two evaluated epochs the metric is taken to move in a straight line. Before the first one nothing is known
    of it, so that a target that is reached there counts as reached when it was evaluated, and not before.

    Args:
        curve: of one training; epochs that were not evaluated are passed over.
        target: in the metric's own unit.
        higher: whether a higher metric is better.
    """
    before: tuple[float, float] | None = None
    for point in curve:
        if point.metric is None:
            continue
        if (point.metric >= target) if higher else (point.metric <= target):
            if before is None:
                return point.elapsed_s
            began_s, metric = before
            return began_s + (point.elapsed_s - began_s) * (target - metric) / (point.metric - metric)
        before = (point.elapsed_s, point.metric)
    return None


def time_to_accuracy(
    baseline: Mapping[int, TrainingRun],
    candidate: Mapping[int, TrainingRun],
    margins: Mapping[int, float] | float,
    *,
    higher: bool,
) -> TimeToAccuracy | None:
    """Time until float32's final metric on the same seed, less the margin; None without a seed that both trained on.

    Args:
        baseline: trainings by seed, of those that have a metric.
        candidate: the same.
        margins: how far below (above, where lower is better) float32's metric is good enough; by seed, or one for all.
        higher: whether a higher metric is better.
    """
    seeds = tuple(seed for seed in sorted(baseline.keys() & candidate.keys()) if baseline[seed].metric is not None)
    if not seeds:
        return None
    reached: list[tuple[float | None, float | None]] = []
    for seed in seeds:
        final = baseline[seed].metric
        assert final is not None
        margin = margins[seed] if isinstance(margins, Mapping) else margins
        target = final - margin if higher else final + margin
        reached.append(
            (
                time_to(baseline[seed].curve, target, higher=higher),
                time_to(candidate[seed].curve, target, higher=higher),
            )
        )
    return TimeToAccuracy(
        seeds=seeds,
        baseline_s=tuple(time_s for time_s, _ in reached),
        candidate_s=tuple(time_s for _, time_s in reached),
        ratio=_ratio(reached),
    )


def _ratio(reached: Sequence[tuple[float | None, float | None]], level: float = LEVEL) -> Interval | None:
    """Baseline's time over the candidate's, with the t interval of `pooled_speedup`; the seed is the unit here.

    None unless both reached it on every seed: a ratio over those that did would leave out the worst.
    """
    ratios = [baseline_s / candidate_s for baseline_s, candidate_s in reached if baseline_s and candidate_s]
    if len(ratios) < len(reached) or len(ratios) < 2:
        return None
    return replace(pooled_speedup(ratios, level), method=f"t interval on log ratios over {len(ratios)} seeds")


def epoch_seconds(run: TrainingRun) -> float | None:
    """Mean wall clock of an epoch, evaluation apart [s]; without the first, which compiles, where there are more."""
    if not run.curve:
        return None
    first, last = run.curve[0], run.curve[-1]
    if len(run.curve) == 1:
        return first.elapsed_s
    return (last.elapsed_s - first.elapsed_s) / (len(run.curve) - 1)
