"""Stage 3: a finalist on new seeds and in fresh processes. Only these figures are quoted.

The fastest of many is biased upwards, and one that passed a gate may have been lucky. So the front-runner is timed and
trained again from nothing; if it does not hold, the next one is. The error level is shared among as many verdicts as
may be looked at (`search.finalists`), which is fixed beforehand. A finalist that ends before its first look, because a
fresh process shows that it is not faster or because it fails, has used none of it: no verdict could have passed it.
"""

from __future__ import annotations

from autotune.decide import accuracy
from autotune.decide.accuracy import Look
from autotune.record.events import BASELINE_TRIAL, FinalistConfirmed
from autotune.record.view import TrialView
from autotune.study import evidence as shown
from autotune.study.compare import probed
from autotune.study.context import CONFIRM_SEED_OFFSET, StudyContext, model_name
from autotune.study.evidence import Evidence
from autotune.trial import Accuracy, AccuracyVerdict, Confirmation, Failure, Stage


def confirm(context: StudyContext, trial: TrialView) -> Confirmation:
    """Time and train one finalist; what it showed is recorded."""
    context.stage(Stage.CONFIRM, 1)
    evidence = Evidence(trial.number, trial.candidate)
    verdict: Accuracy | None = None
    for number, look in enumerate(_looks(context)):
        if number == 0:
            _fresh_processes(context, evidence, look.seeds)
        else:
            _more_seeds(context, evidence, look.seeds)
        if len(evidence.runs) < look.seeds or evidence.hopeless:
            break
        verdict = shown.judge(context, evidence, look.level)
        if verdict is None or verdict.verdict is not AccuracyVerdict.INCONCLUSIVE or not _hopeful(verdict):
            break
    confirmation = shown.conclude(context, evidence, verdict)
    context.record.append(FinalistConfirmed(confirmation))
    return confirmation


def first_seed(context: StudyContext) -> int:
    """The first confirmation seed, whose models are kept: fixed beforehand, not the best of several."""
    return context.config.train.seed + CONFIRM_SEED_OFFSET


def _looks(context: StudyContext) -> tuple[Look, ...]:
    """When the verdict is looked at, fixed before any finalist is trained on one of these seeds."""
    config = context.config
    spread = accuracy.spread(list(context.first_metrics.values()))
    return accuracy.looks(spread, context.margin, fewest=config.constraint.seeds, verdicts=config.search.finalists)


def _fresh_processes(context: StudyContext, evidence: Evidence, seeds: int) -> None:
    """Each process times the pair and trains both on one new seed; seeds beyond the processes go to the last."""
    processes = context.config.search.timing.processes
    for index in range(max(processes, seeds)):
        if not _affordable(context, evidence, starts=index < processes):
            return
        if index < processes:
            context.executor.replace()
            if not _time(context, evidence):
                return
        if index < seeds and not _train_pair(context, evidence, index):
            return


def _affordable(context: StudyContext, evidence: Evidence, *, starts: bool) -> bool:
    """Whether the budget has room for one more pair of trainings, and a fresh process if it `starts` one."""
    assert context.plan is not None
    speedup = context.view.trials[evidence.number].speedup
    cost_s = context.baseline_seconds() + context.training_seconds(speedup.estimate if speedup else 1.0)
    cost_s += context.plan.process_s if starts else 0.0
    if context.budget.allows(cost_s, context.export_seconds()):
        return True
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
    evidence.hopeless = found.gain.high < 1
    return not evidence.hopeless


def _train_pair(context: StudyContext, evidence: Evidence, index: int) -> bool:
    """Baseline (unless an earlier finalist had it trained) and candidate on one new seed."""
    number, seed = evidence.number, first_seed(context) + index
    keep = index == 0
    if seed not in context.baseline_metrics:
        name = model_name(BASELINE_TRIAL, seed) if keep else None
        if context.train(BASELINE_TRIAL, context.baseline, seed, Stage.CONFIRM, keep=name) is None:
            assert context.view.baseline is not None
            evidence.failure = context.view.baseline.failure
            return False
    name = model_name(number, seed) if keep else None
    run = context.train(number, evidence.candidate, seed, Stage.CONFIRM, keep=name)
    if run is None:
        evidence.failure = context.view.trials[number].failure
        return False
    evidence.runs[seed] = run
    return True


def _more_seeds(context: StudyContext, evidence: Evidence, seeds: int) -> None:
    """Up to the next look, unless the budget or a failure ends it."""
    for index in range(len(evidence.runs), seeds):
        if not _affordable(context, evidence, starts=False) or not _train_pair(context, evidence, index):
            return


def _hopeful(verdict: Accuracy) -> bool:
    """Whether more seeds could still show PASS: a mean below the margin would only turn INCONCLUSIVE into FAIL."""
    return verdict.delta.estimate > -verdict.margin
