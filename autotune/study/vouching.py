"""Candidates that train identically: what the gate saw of one is true of the other.

Two candidates that differ in nothing but steps_per_execution make the same updates, on the same batches, in the same
order; one call of the compiled function merely makes more of them. Measured on two CPU cores (TensorFlow 2.21, Keras
3.15; digits_mlp and cifar_mlp, float32 and mixed_bfloat16, XLA off and on but for cifar_mlp in mixed_bfloat16, where it
was off; 1, 2 and 8 steps a call, one seed): all weights after training equal to the last bit, and so the metric.
Nothing was measured with dropout. On a device whose kernels add in no fixed order they are as alike as two trainings of
one candidate on one seed: "identical" means no more than that. XLA is another matter: it changes dropout masks and
16-bit rounding, so it has to be the same for both.

What a vouched verdict is good for ends at the gate, which makes no claim: a finalist is trained itself on new seeds.
"""

from __future__ import annotations

from dataclasses import replace

from autotune.record.events import TrialJudged
from autotune.record.view import TrialView
from autotune.study.context import StudyContext
from autotune.trial import AccuracyVerdict, Candidate, Stage, TrainingRun, TrialState


def trained_twin(context: StudyContext, trial: TrialView) -> TrialView | None:
    """A trial that was trained itself, trains identically and has its gate's verdict; None if there is none."""
    if context.config.train.callbacks:
        return None  # a callback is called once an execution, and may do what it likes then
    for other in context.view.trials.values():
        if other.is_baseline or other.vouched_by is not None:
            continue
        judged = other.state in (TrialState.PASSED, TrialState.REJECTED)
        if judged and _trains_alike(trial.candidate, other.candidate) and _is_whole(context, trial, other):
            return other
    return None


def vouch(context: StudyContext, trial: TrialView, twin: TrialView) -> bool:
    """Judge a trial by what its twin has shown; whether it goes on. The verdict is recorded as what it is."""
    assert twin.state is not None
    if (refuted := _refuted_by(twin)) is not None:
        reason = f"not trained: {refuted}"
        context.record.append(TrialJudged(trial.number, TrialState.SKIPPED, reason, vouched_by=twin.number))
        return False
    reason = f"{_same(twin)} and vouches for it: {twin.reason}"
    context.record.append(TrialJudged(trial.number, twin.state, reason, twin.accuracy, vouched_by=twin.number))
    return twin.state is TrialState.PASSED


def drop_if_refuted(context: StudyContext, trial: TrialView) -> bool:
    """Whether a trial that has passed trains as a finalist did whose accuracy did not hold; it is recorded as dropped.

    On the same new seeds it would show the same once more.
    """
    if context.config.train.callbacks:
        return False
    for other in context.view.trials.values():
        if other.is_baseline or not _trains_alike(trial.candidate, other.candidate):
            continue
        if (refuted := _refuted_by(other)) is not None:
            reason = f"not confirmed: {refuted}"
            judged = TrialJudged(trial.number, TrialState.SKIPPED, reason, trial.accuracy, vouched_by=other.number)
            context.record.append(judged)
            return True
    return False


def _refuted_by(twin: TrialView) -> str | None:
    confirmed = twin.confirmation.accuracy if twin.confirmation else None
    if confirmed is None or confirmed.verdict is AccuracyVerdict.PASS:
        return None
    return f"{_same(twin)}, and its accuracy was {confirmed.verdict.value} on new seeds"


def _same(twin: TrialView) -> str:
    return f"trial {twin.number} trains identically (steps_per_execution alone differs)"


def _trains_alike(one: Candidate, other: Candidate) -> bool:
    return one != other and replace(one, steps_per_execution=other.steps_per_execution) == other


def _is_whole(context: StudyContext, trial: TrialView, twin: TrialView) -> bool:
    """Whether the twin's trainings made as many updates as this trial's would make, by the same recipe."""
    runs = twin.runs.get(Stage.VERIFY, [])
    recipe = context.recipe(trial.candidate)
    # Only where both divide the epoch are examples shuffled alike: see `Trainer`.
    steps = recipe.examples // recipe.batch_size
    divide = all(steps % one.candidate.steps_per_execution == 0 for one in (trial, twin))
    return bool(runs) and divide and all(run.recipe == recipe and _made_all(run) for run in runs)


def _made_all(run: TrainingRun) -> bool:
    return run.iterations + run.skipped_steps == run.asked_steps
