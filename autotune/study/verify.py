"""Stage 2: train candidates fastest first, until enough have passed the accuracy gate. A gate makes no claim."""

from __future__ import annotations

from autotune.config.search import Verify
from autotune.decide import accuracy
from autotune.record.events import TrialJudged
from autotune.record.view import TrialView
from autotune.study.context import StudyContext
from autotune.trial import Candidate, Policy, Stage, TrialState, Xla


def departures(candidate: Candidate, baseline: Candidate) -> int:
    """In how many settings a candidate departs from the user's: ties go to the fewest."""
    return sum(
        (
            candidate.policy != baseline.policy,
            candidate.batch_size != baseline.batch_size,
            candidate.xla is Xla.ON,
            candidate.widths != baseline.widths,
            candidate.steps_per_execution != baseline.steps_per_execution,
        )
    )


def verify(context: StudyContext) -> list[int]:
    """Trial numbers of the finalists, fastest first; every screened trial is judged."""
    search = context.config.search
    queue = _faster_than_baseline(context)
    wanted = search.finalists if search.verify is Verify.fastest else len(queue)
    context.stage(Stage.VERIFY, min(wanted, len(queue)) * search.gate_seeds)
    passed: list[int] = []
    rejected_batches: dict[Policy, tuple[int, int]] = {}
    while queue:
        trial = queue.pop(0)
        if len(passed) >= wanted:
            slowest = min(passed, key=lambda number: _speedup(context.view.trials[number]))
            _judge_rest(context, [trial], slowest)
            continue
        if (known := rejected_batches.get(trial.candidate.policy)) and search.verify is Verify.fastest:
            number, batch = known
            if trial.candidate.batch_size >= batch:
                reason = (
                    f"not trained: trial {number}, with the same policy and a batch no larger, clearly lost accuracy"
                )
                context.record.append(TrialJudged(trial.number, TrialState.SKIPPED, reason))
                continue
        if not _affordable(context, trial):
            context.record.append(TrialJudged(trial.number, TrialState.SKIPPED, "not trained: the budget is used"))
            continue
        if _passes(context, trial):
            passed.append(trial.number)
        elif trial.state is TrialState.REJECTED and _clearly_lost(context, trial):
            rejected_batches[trial.candidate.policy] = (trial.number, trial.candidate.batch_size)
    return sorted(passed, key=lambda number: -_speedup(context.view.trials[number]))[: search.finalists]


def _faster_than_baseline(context: StudyContext) -> list[TrialView]:
    """Screened trials that may be faster, fastest first; the others are judged SLOWER here."""
    threshold = context.config.objective.threshold
    queue = []
    for trial in list(context.view.trials.values()):
        if trial.is_baseline or trial.state is not TrialState.SCREENED or trial.speedup is None:
            continue
        if trial.speedup.estimate > threshold:
            queue.append(trial)
        else:
            reason = f"x{trial.speedup.estimate:.2f} the baseline's throughput: nothing to verify"
            context.record.append(TrialJudged(trial.number, TrialState.SLOWER, reason))
    return sorted(queue, key=lambda trial: (-_speedup(trial), departures(trial.candidate, context.baseline)))


def _judge_rest(context: StudyContext, trials: list[TrialView], passed: int) -> None:
    for trial in trials:
        reason = f"slower than trial {passed}, which passed the gate: it was not worth training"
        context.record.append(TrialJudged(trial.number, TrialState.DOMINATED, reason))


def _passes(context: StudyContext, trial: TrialView) -> bool:
    """Train on the gate's seeds and judge; stops early once the rest would have to beat the baseline by a margin."""
    constraint, seeds = context.config.constraint, context.config.search.gate_seeds
    deltas: list[float] = []
    used: list[int] = []
    for offset in range(seeds):
        seed = context.config.train.seed + offset
        run = context.train(trial.number, trial.candidate, seed, Stage.VERIFY)
        if run is None:
            return False
        assert run.metric is not None
        deltas.append(context.oriented(run.metric, context.baseline_metrics[seed]))
        used.append(seed)
        left = seeds - len(deltas)
        if left and (-constraint.margin / 2 * seeds - sum(deltas)) / left > constraint.margin:
            reason = (
                f"stopped after {len(deltas)} of {seeds} seeds at {context.told(deltas[-1])}: the rest would have to"
                " beat float32 by more than the margin"
            )
            context.record.append(TrialJudged(trial.number, TrialState.REJECTED, reason))
            return False
    seen = accuracy.judge(deltas, used, constraint.margin)
    ok = accuracy.gate(deltas, constraint.margin)
    state = TrialState.PASSED if ok else TrialState.REJECTED
    mean, needed = context.told(seen.delta.estimate), context.told(-constraint.margin / 2)
    reason = f"mean {mean} on {len(deltas)} seeds, gate at {needed}"
    context.record.append(TrialJudged(trial.number, state, reason, seen))
    return ok


def _clearly_lost(context: StudyContext, trial: TrialView) -> bool:
    """Whether every seed lost more than the margin."""
    deltas = trial.deltas.get(Stage.VERIFY, {}).values()
    return bool(deltas) and max(deltas) < -context.config.constraint.margin


def _affordable(context: StudyContext, trial: TrialView) -> bool:
    assert context.plan is not None
    cost_s = context.config.search.gate_seeds * context.training_seconds(_speedup(trial))
    return context.budget.allows(cost_s, context.plan.must_follow_s(Stage.VERIFY))


def _speedup(trial: TrialView) -> float:
    assert trial.speedup is not None
    return trial.speedup.estimate
