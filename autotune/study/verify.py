"""Stage 2: train candidates fastest first, until enough have passed the accuracy gate. A gate makes no claim."""

from __future__ import annotations

from autotune.config.search import Verify
from autotune.decide import accuracy
from autotune.record.events import TrialJudged
from autotune.record.view import TrialView
from autotune.study.context import StudyContext
from autotune.trial import Candidate, Stage, TrialState, Xla


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
    passed: list[TrialView] = []
    lost: list[TrialView] = []  # clearly less accurate, in the order in which that was seen
    while queue and len(passed) < wanted:
        trial = queue.pop(0)
        if search.verify is Verify.fastest and (known := _lost_alike(trial, lost)) is not None:
            _skip(
                context, trial, f"trial {known.number}, of the same policy and no larger batch, clearly lost accuracy"
            )
        elif not _affordable(context, trial):
            _skip(context, trial, "the budget is used")
        elif _passes(context, trial):
            passed.append(trial)
        elif _clearly_lost(context, trial):
            lost.append(trial)
            # What a batch costs in accuracy hardly depends on the policy: as large ones are tried last.
            smallest = min(found.candidate.batch_size for found in lost)
            queue.sort(key=lambda other: other.candidate.batch_size >= smallest)
    _judge_rest(context, queue, passed)
    fastest_first = sorted(passed, key=lambda trial: -_speedup(trial))
    return [trial.number for trial in fastest_first[: search.finalists]]


def _lost_alike(trial: TrialView, lost: list[TrialView]) -> TrialView | None:
    """A trial of the same policy and no larger batch that clearly lost accuracy."""
    for found in lost:
        same = found.candidate.policy == trial.candidate.policy
        if same and found.candidate.batch_size <= trial.candidate.batch_size:
            return found
    return None


def _skip(context: StudyContext, trial: TrialView, reason: str) -> None:
    context.record.append(TrialJudged(trial.number, TrialState.SKIPPED, f"not trained: {reason}"))


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


def _judge_rest(context: StudyContext, queue: list[TrialView], passed: list[TrialView]) -> None:
    """Those left when enough had passed: slower ones, and faster ones that were put off."""
    if not queue:
        return
    slowest = min(passed, key=_speedup)
    for trial in queue:
        if _speedup(trial) > _speedup(slowest):
            _skip(context, trial, "a candidate with no larger batch clearly lost accuracy, and enough others passed")
            continue
        reason = f"slower than trial {slowest.number}, which passed the gate: it was not worth training"
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
    return trial.state is TrialState.REJECTED and bool(deltas) and max(deltas) < -context.config.constraint.margin


def _affordable(context: StudyContext, trial: TrialView) -> bool:
    assert context.plan is not None
    cost_s = context.config.search.gate_seeds * context.training_seconds(_speedup(trial))
    return context.budget.allows(cost_s, context.plan.must_follow_s(Stage.VERIFY))


def _speedup(trial: TrialView) -> float:
    assert trial.speedup is not None
    return trial.speedup.estimate
