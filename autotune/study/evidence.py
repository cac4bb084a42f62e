"""What one finalist shows in fresh processes and on new seeds, and what follows from it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from autotune.config.constraint import SHARE_METRICS
from autotune.decide import accuracy, learning, sampling, timing
from autotune.study.compare import Comparison
from autotune.study.context import StudyContext
from autotune.trial import (
    Accuracy,
    Candidate,
    Confirmation,
    Failure,
    Interval,
    Probe,
    Recipe,
    Stage,
    TimeToAccuracy,
    TimingVerdict,
    TrainingRun,
)


@dataclass
class Evidence:
    """What one finalist has shown so far.

    Attributes:
        hopeless: a fresh process showed that it is not better than the baseline.
        ended: why neither it nor another finalist can be confirmed further, or None.
        runs: its trainings, by new seed.
    """

    number: int
    candidate: Candidate
    comparisons: list[Comparison] = field(default_factory=list)
    hopeless: bool = False
    ended: str | None = None
    runs: dict[int, TrainingRun] = field(default_factory=dict)
    failure: Failure | None = None

    @property
    def recipe(self) -> Recipe | None:
        """How it was trained."""
        return next((run.recipe for run in self.runs.values()), None)


def judge(context: StudyContext, evidence: Evidence, level: float) -> Accuracy | None:
    """The verdict at a look of this one-sided level; None after a failure, which leaves nothing to judge."""
    if evidence.failure is not None:
        return None
    constraint = context.config.constraint
    deltas = context.view.trials[evidence.number].deltas[Stage.CONFIRM]
    seeds = list(evidence.runs)
    found = accuracy.judge(
        [deltas[seed] for seed in seeds],
        seeds,
        [context.margin_on(seed) for seed in seeds],
        level=level,
        pilot=_pilot(context, evidence.number),
        resolution=context.resolution,
    )
    relative = constraint.margin if constraint.relative else None
    return replace(found, relative_margin=relative, sampling_error=_sampling_error(context, evidence))


def _pilot(context: StudyContext, number: int) -> list[float]:
    """What the gate saw, as distances from the margin: its mean picked this candidate, its spread tells no less."""
    trial = context.view.trials[number]
    trained = trial if trial.vouched_by is None else context.view.trials[trial.vouched_by]
    found = trained.deltas.get(Stage.VERIFY, {})
    return [delta + context.margin_on(seed) for seed, delta in found.items()]


def _sampling_error(context: StudyContext, evidence: Evidence) -> float | None:
    """What the validation part, being a sample, adds to the mean accuracy difference; it is no part of the interval."""
    assert context.data is not None
    if context.config.constraint.metric not in SHARE_METRICS:
        return None
    baseline = context.baseline_runs(evidence.runs)
    pairs = [(run.right, baseline[seed].right) for seed, run in evidence.runs.items()]
    known = [(own, other) for own, other in pairs if own is not None and other is not None]
    if len(known) < len(pairs):
        return None
    return sampling.sampling_error([own for own, _ in known], [other for _, other in known], context.data.validation)


def conclude(context: StudyContext, evidence: Evidence, verdict: Accuracy | None) -> Confirmation:
    """All that was shown, as the confirmation: what is quoted from here on."""
    objective = context.config.objective
    speedup = _pooled(context, evidence, _speedup)
    reached = _time_to_accuracy(context, evidence)
    gain, verdict_on_gain = _pooled(context, evidence, _gain), _verdict(context, evidence, _gain)
    if context.times_trainings:
        gain = reached.ratio if reached else None
        verdict_on_gain = timing.verdict(gain, objective.threshold) if gain else TimingVerdict.UNCLEAR
    pairs = _neighbours(context, evidence)
    return Confirmation(
        trial=evidence.number,
        candidate=evidence.candidate,
        timing=_verdict(context, evidence, _speedup),
        speedup=speedup,
        per_process=tuple(comparison.speedup.estimate for comparison in evidence.comparisons),
        accuracy=verdict,
        baseline_metric=_mean(context.baseline_metrics[seed] for seed in evidence.runs),
        metric=_mean(run.metric for run in evidence.runs.values()),
        step_time_ms=_median(evidence, lambda probe: probe.block_step_ms),
        baseline_step_time_ms=_median(evidence, lambda probe: probe.baseline_step_ms),
        recipe=evidence.recipe,
        failure=evidence.failure,
        objective=objective.name.value,
        gain=gain,
        verdict=verdict_on_gain,
        time_to_accuracy=reached,
        epoch_s=_mean(learning.epoch_seconds(run) for _, run in pairs.values()),
        baseline_epoch_s=_mean(learning.epoch_seconds(run) for run, _ in pairs.values()),
    )


def may_be_better(context: StudyContext, evidence: Evidence) -> bool:
    """Whether trainings are worth it: what the fresh processes said of the speed does not change any more."""
    if context.times_trainings:
        return True
    return _verdict(context, evidence, _gain) is TimingVerdict.FASTER


def _speedup(comparison: Comparison) -> Interval:
    return comparison.speedup


def _gain(comparison: Comparison) -> Interval:
    return comparison.gain


def _verdict(context: StudyContext, evidence: Evidence, interval_of: Callable[[Comparison], Interval]) -> TimingVerdict:
    """Over the processes that there were; UNCLEAR where they have no interval."""
    if _pooled(context, evidence, interval_of) is None:
        return TimingVerdict.UNCLEAR
    found = [interval_of(comparison) for comparison in evidence.comparisons]
    return timing.verdict_over_processes(found, context.config.objective.threshold)


def _pooled(
    context: StudyContext, evidence: Evidence, interval_of: Callable[[Comparison], Interval]
) -> Interval | None:
    """Over the processes that there were; with one of several the spread between them is not known.

    A single one that showed that the candidate is not better ended the confirmation, and is told as it is.
    """
    found = [interval_of(comparison) for comparison in evidence.comparisons]
    if len(found) == 1 and (evidence.hopeless or context.config.search.timing.processes == 1):
        return found[0]
    if len(found) < 2:
        return None
    return timing.pooled_speedup([interval.estimate for interval in found])


def _time_to_accuracy(context: StudyContext, evidence: Evidence) -> TimeToAccuracy | None:
    pairs = _neighbours(context, evidence)
    margins = {seed: context.margin_on(seed) for seed in pairs}
    baseline, candidate = ({seed: pair[side] for seed, pair in pairs.items()} for side in (0, 1))
    return learning.time_to_accuracy(baseline, candidate, margins, higher=context.higher)


def _neighbours(context: StudyContext, evidence: Evidence) -> dict[int, tuple[TrainingRun, TrainingRun]]:
    """Trainings of baseline and candidate by seed, of those whose wall clocks can be compared: in one worker.

    A baseline that was trained beside an earlier finalist ran minutes ago, on a machine that may have drifted since.
    """
    baseline = context.baseline_runs(evidence.runs)
    pairs = {seed: (baseline[seed], run) for seed, run in evidence.runs.items() if seed in baseline}
    return {seed: pair for seed, pair in pairs.items() if pair[0].worker == pair[1].worker}


def _median(evidence: Evidence, blocks: Callable[[Probe], tuple[float, ...]]) -> float | None:
    values = [value for comparison in evidence.comparisons for value in blocks(comparison.probe)]
    return statistics.median(values) if values else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
