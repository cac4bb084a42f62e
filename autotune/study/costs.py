"""What is still to come should take, from what was measured so far, so that a study keeps to its budget."""

from __future__ import annotations

from autotune.decide import accuracy
from autotune.decide.accuracy import Look
from autotune.record.view import TrialView
from autotune.study.context import CONFIRM_SEED_OFFSET, StudyContext

# Later trainings are somewhat slower than the first ones on a machine that warms up, and each has its bookkeeping.
_SLACK, _OVERHEAD_S = 1.15, 1.0


def baseline_s(context: StudyContext) -> float:
    """One training of the baseline [s]: what it took on average, or is planned to take."""
    taken_s = _trained_s(context)
    planned_s = context.plan.baseline_train_s if context.plan else 0.0
    return planned_s if taken_s is None else taken_s * _SLACK + _OVERHEAD_S


def slowness(context: StudyContext) -> float:
    """How many times as long as planned a training of the baseline took; at least 1."""
    taken_s = _trained_s(context)
    planned_s = context.plan.baseline_train_s if context.plan else 0.0
    return max(1.0, taken_s / planned_s) if taken_s and planned_s else 1.0


def _trained_s(context: StudyContext) -> float | None:
    """What a training of the baseline took on average [s]; None before one was done."""
    baseline = context.view.baseline
    runs = [run for group in baseline.runs.values() for run in group] if baseline else []
    return sum(run.train_s for run in runs) / len(runs) if runs else None


def candidate_s(context: StudyContext, speedup: float) -> float:
    """One training of a candidate [s]."""
    return baseline_s(context) / speedup + _OVERHEAD_S


def process_s(context: StudyContext, trial: TrialView | None = None) -> float:
    """A fresh process that times a pair [s]; of a trial that is timed apart, all workers of its rounds.

    Args:
        context: of the study.
        trial: what is timed against the baseline; None: what is alive beside it in one process.
    """
    assert context.plan is not None
    apart = trial is not None and trial.probe is not None and trial.probe.apart_pairs
    # A fresh worker for each of the two in each round, of which the plan has one.
    more = 2 * context.config.search.timing.rounds - 1 if apart else 0
    return context.plan.process_s + more * context.worker_start_s


def pair_s(context: StudyContext, speedup: float, index: int) -> float:
    """Training a candidate on the confirmation's seed of this index, and the baseline unless it was [s]."""
    known = confirming_seed(context, index) in context.baseline_metrics and not context.times_trainings
    return candidate_s(context, speedup) + (0.0 if known else baseline_s(context))


def confirm_s(context: StudyContext, speedup: float, trial: TrialView | None = None) -> float:
    """The whole confirmation of a candidate, up to its first look [s]; `trial` as for `process_s`."""
    trainings_s = sum(pair_s(context, speedup, index) for index in range(looks(context)[0].seeds))
    return context.config.search.timing.processes * process_s(context, trial) + trainings_s


def gate_s(context: StudyContext, speedup: float) -> float:
    """The trainings of the gate [s]."""
    return context.config.search.gate_seeds * candidate_s(context, speedup)


def confirmed_s(context: StudyContext, speedup: float, trial: TrialView | None = None) -> float:
    """What one that passed the gate takes to its end, the export [s]; `trial` as for `process_s`."""
    return confirm_s(context, speedup, trial) + export_s(context)


def answer_s(context: StudyContext, speedup: float, trial: TrialView | None = None) -> float:
    """What one that was measured takes to its end [s]; `trial` as for `process_s`."""
    return gate_s(context, speedup) + confirmed_s(context, speedup, trial)


def export_s(context: StudyContext) -> float:
    """The export [s]."""
    assert context.plan is not None
    return context.plan.shares_s["export"]


def confirming_seed(context: StudyContext, index: int) -> int:
    """A seed of the confirmation. The models of the first are kept: fixed beforehand, not the best of several."""
    return context.config.train.seed + CONFIRM_SEED_OFFSET + index


def looks(context: StudyContext) -> tuple[Look, ...]:
    """When a verdict is looked at, fixed before any finalist is trained on one of the confirmation's seeds."""
    constraint = context.config.constraint
    spread = accuracy.spread(list(context.first_metrics.values()))
    verdicts = context.config.search.finalists
    return accuracy.looks(spread, context.margin, fewest=constraint.seeds, verdicts=verdicts)
