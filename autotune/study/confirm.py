"""Stage 3: a finalist on new seeds and in fresh processes. Only these figures are quoted.

The fastest of many is biased upwards, and one that passed a gate may have been lucky. So the front-runner is timed and
trained again from nothing; if it does not hold, the next one is. Timings come first: they take seconds where trainings
take minutes, and what they do not show to be faster is not trained, since nothing could make a winner of it.

The error level is shared among as many verdicts as may be looked at (`search.finalists`), which is fixed beforehand. A
finalist that one fresh process shows not to be faster, or that fails, has used none of it: no verdict could have passed
it. One that stays unclear counts as a verdict, lest a study go through all that is a little faster by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

from autotune.record.events import BASELINE_TRIAL, FinalistConfirmed
from autotune.record.view import TrialView
from autotune.study import costs
from autotune.study import evidence as shown
from autotune.study.compare import probed
from autotune.study.context import StudyContext, model_name
from autotune.study.evidence import Evidence
from autotune.trial import Accuracy, AccuracyVerdict, Confirmation, Failure, Stage


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What became of one finalist.

    Attributes:
        ended: why no further finalist can be confirmed, or None.
        is_verdict: whether it counts among those that may be looked at.
    """

    confirmation: Confirmation
    ended: str | None
    is_verdict: bool


def confirm(context: StudyContext, trial: TrialView) -> Confirmed:
    """Time and train one finalist; what it showed is recorded."""
    context.stage(Stage.CONFIRM, 1)
    evidence = Evidence(trial.number, trial.candidate)
    if context.times_trainings:
        _timed_and_trained(context, evidence)
    else:
        _timed(context, evidence)
    verdict = _looked_at(context, evidence) if _is_worth_training(context, evidence) else None
    confirmation = shown.conclude(context, evidence, verdict)
    context.record.append(FinalistConfirmed(confirmation))
    unclear = evidence.failure is None and not evidence.hopeless
    return Confirmed(confirmation, evidence.ended, is_verdict=verdict is not None or unclear)


def _is_worth_training(context: StudyContext, evidence: Evidence) -> bool:
    """Whether what the fresh processes said leaves room for a winner."""
    over = evidence.hopeless or evidence.failure is not None or evidence.ended is not None
    return not over and shown.may_be_better(context, evidence)


def _looked_at(context: StudyContext, evidence: Evidence) -> Accuracy | None:
    """Train up to each look until one tells; None where a failure or the budget ended it before the first."""
    verdict: Accuracy | None = None
    for look in costs.looks(context):
        _more_seeds(context, evidence, look.seeds)
        if len(evidence.runs) < look.seeds:
            break
        verdict = shown.judge(context, evidence, look.level)
        if verdict is None or verdict.verdict is not AccuracyVerdict.INCONCLUSIVE or not _hopeful(verdict):
            break
    return verdict


def _timed(context: StudyContext, evidence: Evidence) -> None:
    """In so many fresh processes, one after another; the last one stays, for the trainings."""
    for _ in range(context.config.search.timing.processes):
        if not _affordable(context, evidence, costs.process_s(context, context.view.trials[evidence.number])):
            return
        context.executor.replace()
        if not _time(context, evidence):
            return


def _timed_and_trained(context: StudyContext, evidence: Evidence) -> None:
    """The same where the objective is read from trainings: each process trains a pair, lest all be of one moment."""
    seeds = costs.looks(context)[0].seeds
    for index in range(context.config.search.timing.processes):
        cost_s = costs.process_s(context, context.view.trials[evidence.number])
        cost_s += _pair_s(context, evidence, index) if index < seeds else 0.0
        if not _affordable(context, evidence, cost_s):
            return
        context.executor.replace()
        if not _time(context, evidence) or (index < seeds and not _train_pair(context, evidence, index)):
            return


def _affordable(context: StudyContext, evidence: Evidence, cost_s: float) -> bool:
    """Whether the budget has room for what comes next; else nothing further is confirmed, which is noted."""
    if context.budget.allows(cost_s, costs.export_s(context)):
        return True
    evidence.ended = "the budget is used"
    text = (
        f"the budget ended while trial {evidence.number} was confirmed: what it would still have had to show is missing"
    )
    context.note("budget", text, "warning")
    return False


def _pair_s(context: StudyContext, evidence: Evidence, index: int) -> float:
    speedup = context.view.trials[evidence.number].speedup
    return costs.pair_s(context, speedup.estimate if speedup else 1.0, index)


def _time(context: StudyContext, evidence: Evidence) -> bool:
    """Time in the process that has just begun; False when that ends the confirmation."""
    found = probed(context, evidence.number, evidence.candidate, Stage.CONFIRM)
    if isinstance(found, Failure):
        evidence.failure = found
        return False
    evidence.comparisons.append(found)
    # Where the objective is read from trainings, a slower step may still learn sooner.
    evidence.hopeless = found.gain.high < 1 and not context.times_trainings
    return not evidence.hopeless


def _train_pair(context: StudyContext, evidence: Evidence, index: int) -> bool:
    """Baseline (unless an earlier finalist had it trained) and candidate on one new seed."""
    number, seed = evidence.number, costs.confirming_seed(context, index)
    keep = index == 0
    if (seed not in context.baseline_metrics or context.times_trainings) and not _baseline(context, seed, keep=keep):
        assert context.view.baseline is not None
        evidence.failure = context.view.baseline.failure
        evidence.ended = f"float32 itself failed on seed {seed}"
        return False
    name = model_name(number, seed) if keep else None
    run = context.train(number, evidence.candidate, seed, Stage.CONFIRM, keep=name)
    if run is None:
        evidence.failure = context.view.trials[number].failure
        return False
    evidence.runs[seed] = run
    # A worker that was lost or replaced within the pair: two wall clocks that cannot be compared.
    if context.times_trainings and context.baseline_runs([seed])[seed].worker != run.worker:
        _baseline(context, seed, keep=keep)
    return True


def _baseline(context: StudyContext, seed: int, *, keep: bool) -> bool:
    """Train the baseline on a new seed; a second time in a fresh process, since so much rests on it."""
    name = model_name(BASELINE_TRIAL, seed) if keep else None
    for _ in range(2):
        if context.train(BASELINE_TRIAL, context.baseline, seed, Stage.CONFIRM, keep=name) is not None:
            return True
        context.executor.replace()
    return False


def _more_seeds(context: StudyContext, evidence: Evidence, seeds: int) -> None:
    """Up to the next look, unless the budget or a failure ends it."""
    for index in range(len(evidence.runs), seeds):
        affordable = _affordable(context, evidence, _pair_s(context, evidence, index))
        if not affordable or not _train_pair(context, evidence, index):
            return


def _hopeful(verdict: Accuracy) -> bool:
    """Whether more seeds could still show PASS: a mean below the margin would only turn INCONCLUSIVE into FAIL."""
    return verdict.delta.estimate > -verdict.margin
