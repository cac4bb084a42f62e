"""One candidate through the accuracy gate: trained on the first seeds, paired with float32's. A gate makes no claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autotune.config.objective import Objective
from autotune.config.search import Verify
from autotune.decide import accuracy, learning, stopping
from autotune.record.events import TrialJudged
from autotune.record.view import TrialView
from autotune.study.context import StudyContext
from autotune.trial import EarlyStop, FailureKind, Interval, Stage, TrainingRun, TrialState

# Of the interval that is shown beside the gate's mean, which decides alone.
_GATE_LEVEL = 0.025

_WITHOUT_CURVES = (Objective.throughput, Objective.energy, Objective.memory)
"""Objectives for which a training is good for its metric at the end and nothing else."""


def passes(context: StudyContext, trial: TrialView) -> bool:
    """Train on the gate's seeds and judge; stops early once the rest would have to beat the baseline by a margin."""
    margins = _margins(context)
    found = _trained(context, trial, len(margins))
    return found is not None and judged(context, trial, *found, margins)


def may_pass(context: StudyContext, trial: TrialView) -> bool:
    """Whether it still may after the first of the gate's seeds, or all if that was below the gate; else it is judged.

    A loss just short of the margin on each seed is no chance to measure its like for.
    """
    margins = _margins(context)
    found = _trained(context, trial, 1)
    if found is not None and not accuracy.gate(found[1], margins[:1]):
        found = _trained(context, trial, len(margins))
    if found is None:
        return False
    runs, deltas = found
    return accuracy.gate(deltas, margins[: len(deltas)]) or judged(context, trial, runs, deltas, margins)


def _margins(context: StudyContext) -> list[float]:
    return [context.margin_on(context.config.train.seed + offset) for offset in range(context.config.search.gate_seeds)]


def _trained(context: StudyContext, trial: TrialView, most: int) -> tuple[dict[int, TrainingRun], list[float]] | None:
    """Runs and paired differences on the first seeds; those that there are already are not made again.

    Returns:
        None after a failure, or once it is rejected.
    """
    margins, first = _margins(context), context.config.train.seed
    known = {run.seed: run for run in trial.runs.get(Stage.VERIFY, ()) if run.stopped is None}
    runs: dict[int, TrainingRun] = {}
    deltas: list[float] = []
    for seed in range(first, first + most):
        run = known.get(seed)
        if run is None:
            stops = _stops(context, seed, _needed(context, margins, deltas))
            run = context.train(trial.number, trial.candidate, seed, Stage.VERIFY, stops=stops)
        if run is None:
            return None
        if run.stopped is not None:
            _reject(context, trial, _why_stopped(context, run, run.stopped))
            return None
        assert run.metric is not None
        runs[seed] = run
        deltas.append(context.oriented(run.metric, context.baseline_metrics[seed]))
        left = len(margins) - len(deltas)
        if left and (-accuracy.GATE * sum(margins) - sum(deltas)) / left > context.margin:
            seen = f"{len(deltas)} of {len(margins)} seeds at {context.told(deltas[-1])}"
            _reject(
                context, trial, f"stopped after {seen}: the rest would have to beat float32 by more than the margin"
            )
            return None
    return runs, deltas


def _reject(context: StudyContext, trial: TrialView, reason: str) -> None:
    context.record.append(TrialJudged(trial.number, TrialState.REJECTED, reason))


def _needed(context: StudyContext, margins: Sequence[float], deltas: Sequence[float]) -> float:
    """The least difference on the next seed with which the gate may still be passed; never above -margin.

    So one that is stopped early is expected to have lost more than the margin on that seed.
    """
    later = len(margins) - len(deltas) - 1
    least = -accuracy.GATE * sum(margins) - sum(deltas) - later * context.margin
    return min(least, -context.margin)


def _stops(context: StudyContext, seed: int, needed: float) -> tuple[EarlyStop, ...]:
    """Where a training on this seed is hopeless; nowhere if trainings are wanted whole."""
    search = context.config.search
    whole = search.verify is Verify.all or context.config.objective.name not in _WITHOUT_CURVES
    # Measured over guessing: whoever has learned only which class is frequent may be in the middle of a slow start.
    untrained = context.guessing_metric
    if not search.early_stop or whole or untrained is None:
        return ()
    return stopping.early_stops(
        context.baseline_runs([seed])[seed].curve,
        [run.curve for run in context.baseline_runs(context.first_metrics).values()],
        needed=needed,
        untrained=untrained,
        higher=context.higher,
    )


def _why_stopped(context: StudyContext, run: TrainingRun, stopped: EarlyStop) -> str:
    seen = next(point.metric for point in run.curve if point.epoch == stopped.epoch)
    assert seen is not None
    behind = context.size(abs(stopped.metric - seen))
    return (
        f"stopped early on seed {run.seed}, after epoch {stopped.epoch} of {run.recipe.epochs}: {behind} below what"
        f" float32's learning curve leaves room for (a candidate that loses nothing ends so in at most"
        f" {stopping.ERROR:.0%} of cases)"
    )


def judged(
    context: StudyContext, trial: TrialView, runs: dict[int, TrainingRun], deltas: list[float], margins: list[float]
) -> bool:
    """Whether one that was trained on all of its seeds goes through; the verdict is recorded.

    Args:
        context: of the study.
        trial: what was trained.
        runs: its trainings, by seed.
        deltas, margins: one a seed, in the order of `runs`.
    """
    constraint = context.config.constraint
    seen = accuracy.judge(deltas, list(runs), margins, level=_GATE_LEVEL, resolution=context.resolution)
    seen = replace(seen, relative_margin=constraint.margin if constraint.relative else None)
    ok = accuracy.gate(deltas, margins)
    gate = context.told(-accuracy.GATE * sum(margins) / len(margins))
    reason = f"mean {context.told(seen.delta.estimate)} on {len(deltas)} seeds, gate at {gate}"
    gain: Interval | None = None
    state = TrialState.PASSED if ok else TrialState.REJECTED
    if ok and context.times_trainings:
        gain = _time_gain(context, runs)
        if gain is None:
            state = TrialState.REJECTED
            reason = f"{reason}; it did not reach float32's accuracy, less the margin, on every seed"
        elif gain.estimate <= context.config.objective.threshold:
            state, reason = TrialState.SLOWER, f"{reason}; x{gain.estimate:.2f} the baseline's speed to its accuracy"
    context.record.append(TrialJudged(trial.number, state, reason, seen, gain))
    return state is TrialState.PASSED


def _time_gain(context: StudyContext, runs: dict[int, TrainingRun]) -> Interval | None:
    margins = {seed: context.margin_on(seed) for seed in runs}
    found = learning.time_to_accuracy(context.baseline_runs(runs), runs, margins, higher=context.higher)
    return found.ratio if found else None


def clearly_lost(context: StudyContext, trial: TrialView) -> bool:
    """Whether its like will lose too: each seed lost more than the margin, or was stopped far behind, or ended in NaN.

    One that did not stay finite where it was timed is another matter: see `autotune.study.ruled_out`.
    """
    if trial.state is TrialState.FAILED:
        assert trial.failure is not None
        return trial.failure.kind is FailureKind.NAN and trial.gain is not None
    deltas = trial.deltas.get(Stage.VERIFY, {}).values()
    stopped = any(run.stopped is not None for run in trial.runs.get(Stage.VERIFY, ()))
    lost = all(delta < -context.margin for delta in deltas)
    return trial.state is TrialState.REJECTED and lost and bool(deltas or stopped)


def what_it_lost(trial: TrialView) -> str:
    """What one that has clearly lost has shown, for a reader."""
    return "did not train to finite values" if trial.state is TrialState.FAILED else "lost more than the margin"
