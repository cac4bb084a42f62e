"""One candidate through the accuracy gate: trained on the first seeds, paired with float32's. A gate makes no claim."""

from __future__ import annotations

from dataclasses import replace

from autotune.decide import accuracy, learning
from autotune.record.events import TrialJudged
from autotune.record.view import TrialView
from autotune.study.context import StudyContext
from autotune.trial import Interval, Stage, TrainingRun, TrialState

# Of the interval that is shown beside the gate's mean, which decides alone.
_GATE_LEVEL = 0.025


def passes(context: StudyContext, trial: TrialView) -> bool:
    """Train on the gate's seeds and judge; stops early once the rest would have to beat the baseline by a margin."""
    seeds = [context.config.train.seed + offset for offset in range(context.config.search.gate_seeds)]
    margins = [context.margin_on(seed) for seed in seeds]
    runs: dict[int, TrainingRun] = {}
    deltas: list[float] = []
    for seed in seeds:
        run = context.train(trial.number, trial.candidate, seed, Stage.VERIFY)
        if run is None:
            return False
        assert run.metric is not None
        runs[seed] = run
        deltas.append(context.oriented(run.metric, context.baseline_metrics[seed]))
        left = len(seeds) - len(deltas)
        if left and (-accuracy.GATE * sum(margins) - sum(deltas)) / left > context.margin:
            reason = (
                f"stopped after {len(deltas)} of {len(seeds)} seeds at {context.told(deltas[-1])}: the rest would have"
                " to beat float32 by more than the margin"
            )
            context.record.append(TrialJudged(trial.number, TrialState.REJECTED, reason))
            return False
    return _judged(context, trial, runs, deltas, margins)


def _judged(
    context: StudyContext, trial: TrialView, runs: dict[int, TrainingRun], deltas: list[float], margins: list[float]
) -> bool:
    constraint = context.config.constraint
    seen = accuracy.judge(deltas, list(runs), margins, level=_GATE_LEVEL, resolution=context.resolution)
    seen = replace(seen, relative_margin=constraint.margin if constraint.relative else None)
    ok = accuracy.gate(deltas, margins)
    gate = context.told(-accuracy.GATE * sum(margins) / len(margins))
    reason = f"mean {context.told(seen.delta.estimate)} on {len(deltas)} seeds, gate at {gate}"
    gain: Interval | None = None
    if ok and context.times_trainings:
        gain = _time_gain(context, runs)
        if gain is None:
            ok, reason = False, f"{reason}; it did not reach float32's accuracy, less the margin, on every seed"
    state = TrialState.PASSED if ok else TrialState.REJECTED
    context.record.append(TrialJudged(trial.number, state, reason, seen, gain))
    return ok


def _time_gain(context: StudyContext, runs: dict[int, TrainingRun]) -> Interval | None:
    margins = {seed: context.margin_on(seed) for seed in runs}
    found = learning.time_to_accuracy(context.baseline_runs(runs), runs, margins, higher=context.higher)
    return found.ratio if found else None


def clearly_lost(context: StudyContext, trial: TrialView) -> bool:
    """Whether every seed lost more than the margin."""
    deltas = trial.deltas.get(Stage.VERIFY, {}).values()
    return trial.state is TrialState.REJECTED and bool(deltas) and max(deltas) < -context.margin
