"""Stage 3: a finalist on new seeds and in fresh processes. Only these figures are quoted.

The fastest of many is biased upwards, and one that passed a gate may have been lucky. So the front-runner is timed and
trained again from nothing; if it does not hold, the next one is. The error level is shared among as many verdicts as
may be looked at (`search.finalists`), which is fixed beforehand. A finalist that ends before its first look, because a
fresh process shows that it is not faster or because it fails, has used none of it: no verdict could have passed it.
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
    """

    confirmation: Confirmation
    ended: str | None


def confirm(context: StudyContext, trial: TrialView) -> Confirmed:
    """Time and train one finalist; what it showed is recorded."""
    context.stage(Stage.CONFIRM, 1)
    evidence = Evidence(trial.number, trial.candidate)
    verdict: Accuracy | None = None
    for number, look in enumerate(costs.looks(context)):
        if number == 0:
            _fresh_processes(context, evidence, look.seeds)
        else:
            _more_seeds(context, evidence, look.seeds)
        if len(evidence.runs) < look.seeds or evidence.hopeless:
            break
        verdict = shown.judge(context, evidence, look.level)
        if verdict is None or verdict.verdict is not AccuracyVerdict.INCONCLUSIVE:
            break
        if not _hopeful(verdict) or not shown.may_be_better(context, evidence):
            break
    confirmation = shown.conclude(context, evidence, verdict)
    context.record.append(FinalistConfirmed(confirmation))
    return Confirmed(confirmation, evidence.ended)


def _fresh_processes(context: StudyContext, evidence: Evidence, seeds: int) -> None:
    """Each process times the pair and trains both on one new seed; seeds beyond the processes go to the last."""
    processes = context.config.search.timing.processes
    for index in range(max(processes, seeds)):
        if not _affordable(context, evidence, index, starts=index < processes):
            return
        if index < processes:
            context.executor.replace()
            if not _time(context, evidence):
                return
        if index < seeds and not _train_pair(context, evidence, index):
            return


def _affordable(context: StudyContext, evidence: Evidence, index: int, *, starts: bool) -> bool:
    """Whether the budget has room for one more pair of trainings, and a fresh process if it `starts` one."""
    trial = context.view.trials[evidence.number]
    speedup = trial.speedup
    cost_s = costs.pair_s(context, speedup.estimate if speedup else 1.0, index)
    cost_s += costs.process_s(context, trial) if starts else 0.0
    if context.budget.allows(cost_s, costs.export_s(context)):
        return True
    evidence.ended = "the budget is used"
    text = (
        f"the budget ended while trial {evidence.number} was confirmed: what it would still have had to show is missing"
    )
    context.note("budget", text, "warning")
    return False


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
        if not _affordable(context, evidence, index, starts=False) or not _train_pair(context, evidence, index):
            return


def _hopeful(verdict: Accuracy) -> bool:
    """Whether more seeds could still show PASS: a mean below the margin would only turn INCONCLUSIVE into FAIL."""
    return verdict.delta.estimate > -verdict.margin
