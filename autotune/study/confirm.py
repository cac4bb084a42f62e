"""Stage 3: finalists on new seeds and in fresh processes. Only these figures are quoted.

The fastest of many is biased upwards, and one that passed a gate may have been lucky. So the front-runner is timed and
trained again from nothing; if it does not hold, the next one is. Each has its share of the error level, decided by how
many finalists there are before any of them is confirmed.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from autotune.decide import accuracy, health, timing
from autotune.errors import TrialFault
from autotune.record.events import BASELINE_TRIAL, FinalistConfirmed, Probed
from autotune.study.context import CONFIRM_SEED_OFFSET, StudyContext, model_name
from autotune.study.screen import compare
from autotune.trial import (
    Accuracy,
    AccuracyVerdict,
    Candidate,
    Confirmation,
    Failure,
    Interval,
    Probe,
    Recipe,
    Stage,
    TimingVerdict,
)


@dataclass
class _Evidence:
    """What one finalist has shown so far."""

    probes: list[Probe] = field(default_factory=list)
    estimates: list[Interval] = field(default_factory=list)
    deltas: dict[int, float] = field(default_factory=dict)
    metrics: dict[int, float] = field(default_factory=dict)
    recipe: Recipe | None = None
    failure: Failure | None = None


def confirm(context: StudyContext, finalists: list[int]) -> int:
    """The trial number of the first finalist that is FASTER and PASS, or the baseline's."""
    context.stage(Stage.CONFIRM, len(finalists))
    looks = _looks(context)
    for number in finalists:
        confirmation = _confirm_one(context, number, len(finalists), looks)
        context.record.append(FinalistConfirmed(confirmation))
        if confirmation.succeeded:
            return number
    return BASELINE_TRIAL


def first_seed(context: StudyContext) -> int:
    """The first confirmation seed, whose models are kept: fixed beforehand, not the best of several."""
    return context.config.train.seed + CONFIRM_SEED_OFFSET


def _looks(context: StudyContext) -> list[int]:
    """At how many seeds the verdict is looked at, fixed before any finalist is trained on one of them."""
    spread = accuracy.spread(list(context.baseline_metrics.values()))
    fixed = accuracy.looks(spread, context.config.constraint.margin)
    return sorted({max(look, context.config.constraint.seeds) for look in fixed})


def _confirm_one(context: StudyContext, number: int, finalists: int, looks: list[int]) -> Confirmation:
    candidate = context.view.trials[number].candidate
    evidence = _Evidence()
    level = accuracy.LOOK_LEVEL / finalists
    _fresh_processes(context, number, candidate, evidence, seeds=looks[0])
    verdict = _judge(context, evidence, level)
    for look in looks[1:]:
        if verdict is None or verdict.verdict is not AccuracyVerdict.INCONCLUSIVE or not _hopeful(context, verdict):
            break
        if not _more_seeds(context, number, candidate, evidence, look):
            break
        verdict = _judge(context, evidence, level)
    return _confirmation(context, number, candidate, evidence, verdict)


def _fresh_processes(context: StudyContext, number: int, candidate: Candidate, evidence: _Evidence, seeds: int) -> None:
    """Each process times the pair and trains both on one new seed; seeds beyond the processes go to the last."""
    processes = context.config.search.timing.processes
    for index in range(max(processes, seeds)):
        if not _affordable(context, number, starts=index < processes):
            return
        if index < processes:
            context.executor.replace()
            if not _time(context, number, candidate, evidence):
                return
        if index < seeds and not _train_pair(context, number, candidate, evidence, index):
            return


def _affordable(context: StudyContext, number: int, *, starts: bool) -> bool:
    """Whether the budget has room for one more pair of trainings, and a fresh process if it `starts` one."""
    assert context.plan is not None
    speedup = context.view.trials[number].speedup
    cost_s = context.baseline_seconds() + context.training_seconds(speedup.estimate if speedup else 1.0)
    cost_s += context.plan.process_s if starts else 0.0
    if context.budget.allows(cost_s, context.plan.must_follow_s(Stage.CONFIRM)):
        return True
    text = f"the budget ended while trial {number} was confirmed: what it would still have had to show is missing"
    context.note("budget", text, "warning")
    return False


def _time(context: StudyContext, number: int, candidate: Candidate, evidence: _Evidence) -> bool:
    began = context.clock()
    with context.faults(number, candidate, Stage.CONFIRM) as fault:
        reference = (context.baseline, context.recipe(context.baseline))
        probe = context.executor.probe(candidate, context.recipe(candidate), reference, Stage.CONFIRM)
        if (failure := health.probe_failure(probe)) is not None:
            raise TrialFault(failure.kind, failure.message)
    if fault:
        evidence.failure = fault[0]
        return False
    interval, verdict = compare(probe, context)
    evidence.probes.append(probe)
    evidence.estimates.append(interval)
    context.record.append(Probed(number, Stage.CONFIRM, probe, interval, verdict, context.clock() - began))
    return True


def _train_pair(context: StudyContext, number: int, candidate: Candidate, evidence: _Evidence, index: int) -> bool:
    """Baseline (unless an earlier finalist had it trained) and candidate on one new seed."""
    seed = first_seed(context) + index
    keep = index == 0
    if seed not in context.baseline_metrics:
        name = model_name(BASELINE_TRIAL, seed) if keep else None
        run = context.train(BASELINE_TRIAL, context.baseline, seed, Stage.CONFIRM, keep=name)
        if run is None:
            assert context.view.baseline is not None
            evidence.failure = context.view.baseline.failure
            return False
    run = context.train(number, candidate, seed, Stage.CONFIRM, keep=model_name(number, seed) if keep else None)
    if run is None:
        evidence.failure = context.view.trials[number].failure
        return False
    assert run.metric is not None
    evidence.recipe = run.recipe
    evidence.metrics[seed] = run.metric
    evidence.deltas[seed] = context.oriented(run.metric, context.baseline_metrics[seed])
    return True


def _more_seeds(context: StudyContext, number: int, candidate: Candidate, evidence: _Evidence, look: int) -> bool:
    """Up to the next look; False when the budget or a failure ends it."""
    for index in range(len(evidence.deltas), look):
        if not _affordable(context, number, starts=False):
            return False
        if not _train_pair(context, number, candidate, evidence, index):
            return False
    return True


def _judge(context: StudyContext, evidence: _Evidence, level: float) -> Accuracy | None:
    if evidence.failure is not None or len(evidence.deltas) < context.config.constraint.seeds:
        return None  # fewer seeds than the first look, which was fixed beforehand
    assert context.data is not None
    constraint = context.config.constraint
    resolution = 1 / context.data.validation if constraint.metric == "accuracy" else 0.0
    return accuracy.judge(
        list(evidence.deltas.values()),
        list(evidence.deltas),
        constraint.margin,
        level=level,
        resolution=resolution,
    )


def _hopeful(context: StudyContext, verdict: Accuracy) -> bool:
    """Whether more seeds could still show PASS: a mean below the margin would only turn INCONCLUSIVE into FAIL."""
    return verdict.delta.estimate > -context.config.constraint.margin


def _confirmation(
    context: StudyContext, number: int, candidate: Candidate, evidence: _Evidence, verdict: Accuracy | None
) -> Confirmation:
    speedup = _pooled(context, evidence)
    timing_verdict = TimingVerdict.UNCLEAR
    if speedup is not None:
        timing_verdict = timing.verdict(speedup, context.config.objective.threshold)
    baseline = [context.baseline_metrics[seed] for seed in evidence.metrics]
    return Confirmation(
        trial=number,
        candidate=candidate,
        timing=timing_verdict,
        speedup=speedup,
        per_process=tuple(interval.estimate for interval in evidence.estimates),
        accuracy=verdict,
        baseline_metric=statistics.fmean(baseline) if baseline else None,
        metric=statistics.fmean(evidence.metrics.values()) if evidence.metrics else None,
        step_time_ms=_median(evidence.probes, lambda probe: probe.block_step_ms),
        baseline_step_time_ms=_median(evidence.probes, lambda probe: probe.baseline_step_ms),
        recipe=evidence.recipe,
        failure=evidence.failure,
        gain=speedup,
        verdict=timing_verdict,
    )


def _pooled(context: StudyContext, evidence: _Evidence) -> Interval | None:
    """Over the processes that there were; with one of several the spread between them is not known."""
    if context.config.search.timing.processes == 1 and evidence.estimates:
        return evidence.estimates[0]
    if len(evidence.estimates) < 2:
        return None
    return timing.pooled_speedup([interval.estimate for interval in evidence.estimates])


def _median(probes: list[Probe], blocks: Callable[[Probe], tuple[float, ...]]) -> float | None:
    values = [value for probe in probes for value in blocks(probe)]
    return statistics.median(values) if values else None
