"""What MLflow is told of one trial: parameters, metrics (`autotune.tracking.metrics`) and tags. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autotune.explain.why import why
from autotune.masking import masked
from autotune.record.view import StudyView, TrialView
from autotune.report.markdown import text
from autotune.report.objective import Goal
from autotune.report.quoted import comparison
from autotune.tracking.metrics import Metrics, trial_metrics
from autotune.tracking.names import name, spelt, widths
from autotune.trial import Accuracy, AccuracyVerdict, Candidate, Effect, Stage, TrainingRun, TrialState

# Tags that a run may have had and lost again, such as by a study that had been interrupted and then went on.
TRANSIENT_TAGS = frozenset(
    {"alias", "alias_reason", "compared", "failure", "failure_message", "feasible", "gain_verdict", "gate"}
    | {"interrupted", "non_finite", "reason", "timing_verdict", "verdict", "warnings", "why", "winner"}
)


@dataclass(frozen=True, slots=True)
class Row:
    """What one run holds. A metric is finite: MLflow stores infinity as 1.8e308, which then sorts first.

    Attributes:
        params: what was asked; cannot be changed once written.
        metrics: finite numbers, unit in the name.
        tags: everything else, and whatever may change.
    """

    params: dict[str, str]
    metrics: dict[str, float]
    tags: dict[str, str]


def row(params: dict[str, object], metrics: Metrics, tags: dict[str, object], non_finite: set[str]) -> Row:
    """A row without what is unknown (`None`) and without secrets; metrics that are not finite are named in a tag."""
    broken = {key for key, value in metrics.items() if value is not None and not math.isfinite(value)}
    if named := sorted(non_finite | broken):
        tags = {**tags, "non_finite": ", ".join(named)}
    return Row(
        params={key: masked(spelt(value)) for key, value in params.items() if value is not None},
        metrics={key: _rounded(v) for key, v in metrics.items() if v is not None and key not in broken},
        tags={key: masked(spelt(value)) for key, value in tags.items() if value is not None},
    )


def trial_row(trial: TrialView, view: StudyView, metric: str) -> Row:
    """All that is known of a trial now; `metric` is the constraint's metric."""
    run = latest_run(trial)
    params = candidate_params(trial.candidate) | (_recipe_params(run) if run else {})
    metrics = trial_metrics(trial, view, metric)
    effect = run.effect if run else trial.probe.effect if trial.probe else None
    told = why(view, trial) if view.decided else ""  # while others are timed, nobody waits for it
    tags = study_tags(view) | _state_tags(trial, told) | (_effect_tags(effect) if effect else {})
    tags |= {"compared": comparisons(view, trial.number)}
    tags |= {"recipe": str(run.recipe) if run else None, "why": told or None}
    return row(params, metrics, tags, _lost(trial, metric))


def candidate_params(candidate: Candidate) -> dict[str, object]:
    """What a candidate asks for."""
    return {
        "policy": candidate.policy,
        "batch_size": candidate.batch_size,
        "xla": candidate.xla.value,
        "widths": widths(candidate),
        "steps_per_execution": candidate.steps_per_execution,
        **candidate.further,
    }


def study_tags(view: StudyView) -> dict[str, object]:
    """What every run of a study carries, so that it can be found and read without its parent."""
    started = view.started
    tags: dict[str, object] = {"stand_in": view.worker.data.stand_in or "no"} if view.worker else {}
    if started is None:
        return tags
    return tags | {
        "study": started.study,
        "target": title(started.target),
        "device": title(started.device),
        "on_target": started.on_target,
        "objective": Goal.of(view).name,
        "sweep": started.sweep.name if started.sweep else None,
        "sweep_job": (started.sweep.job or None) if started.sweep else None,
    }


def comparisons(view: StudyView, trial: int | None = None) -> str | None:
    """What finalists showed that were timed against one another, all of them or those with this trial."""
    found = [event for event in view.comparisons if trial is None or trial in (event.trial, event.other)]
    return "; ".join(comparison(event) for event in found) or None


def title(hardware: dict[str, object]) -> str:
    """What people call a profile or a device."""
    return str(hardware.get("title") or hardware.get("name") or "unknown")


def latest_run(trial: TrialView) -> TrainingRun | None:
    """The last training of the last stage that trained it."""
    for stage in (Stage.CONFIRM, Stage.VERIFY, Stage.BASELINE):
        if runs := trial.runs.get(stage):
            return runs[-1]
    return None


def verdict(accuracy: Accuracy | None) -> AccuracyVerdict | None:
    """The verdict, where there is one."""
    return accuracy.verdict if accuracy else None


def state(trial: TrialView) -> str:
    """A trial's state in one word or two, which for a finalist is what the confirmation said."""
    if trial.is_baseline and trial.failure is None:
        return "baseline"
    if trial.confirmation:
        return "confirmed" if trial.confirmation.succeeded else "not confirmed"
    return trial.state.value if trial.state else "measuring"


def _recipe_params(run: TrainingRun) -> dict[str, object]:
    """Named so that they come after what is searched, wherever MLflow takes the first parameters for a chart."""
    recipe = run.recipe
    return {
        "train_optimizer": recipe.optimizer,
        "train_learning_rate": f"{recipe.learning_rate:.6g}",
        "train_base_learning_rate": f"{recipe.base_learning_rate:.6g}",
        "train_learning_rate_scaling": recipe.scaling,
        "train_schedule": recipe.schedule,
        "train_warmup_steps": recipe.warmup_steps,
        "train_examples": recipe.examples,
        "train_epochs": recipe.epochs,
        "train_total_steps": recipe.total_steps,
    }


def _state_tags(trial: TrialView, told: str) -> dict[str, object]:
    confirmed, failure = trial.confirmation, trial.failure
    timing = confirmed.timing if confirmed else trial.timing
    return {
        "trial": trial.number,
        "role": "baseline" if trial.is_baseline else "candidate",
        "stage": _stage(trial),
        "state": state(trial),
        "reason": trial.reason or None,
        "feasible": _feasible(trial),
        "timing_verdict": timing,
        "gain_verdict": confirmed.verdict if confirmed else None,
        "gate": _gate(trial),
        "verdict": verdict(confirmed.accuracy) if confirmed else None,
        "failure": failure.kind if failure else None,
        "failure_message": failure.message if failure else None,
        "mlflow.note.content": _note(trial, told),
    }


def _gate(trial: TrialView) -> str | None:
    """What the gate of a few seeds said of the accuracy, which is no verdict."""
    return trial.state.value if trial.state in (TrialState.PASSED, TrialState.REJECTED) else None


def _stage(trial: TrialView) -> Stage:
    if trial.confirmation:
        return Stage.CONFIRM
    for stage in (Stage.CONFIRM, Stage.VERIFY):
        if stage in trial.runs and not trial.is_baseline:
            return stage
    return Stage.BASELINE if trial.is_baseline else Stage.SCREEN


def _feasible(trial: TrialView) -> bool | None:
    """Whether the accuracy constraint holds, as far as it was looked at."""
    if trial.confirmation and trial.confirmation.accuracy:
        judged = trial.confirmation.accuracy.verdict
        return None if judged is AccuracyVerdict.INCONCLUSIVE else judged is AccuracyVerdict.PASS
    return {TrialState.PASSED: True, TrialState.REJECTED: False}.get(trial.state) if trial.state else None


def _note(trial: TrialView, told: str) -> str | None:
    lines = [f"**{trial.state.value}**: {trial.reason}"] if trial.state and trial.reason else []
    if trial.failure:
        lines = [f"**failed ({trial.failure.kind.value})**: {trial.failure.message}"]
        lines += [f"```\n{trial.failure.detail.strip()[-4000:]}\n```"] if trial.failure.detail.strip() else []
    if confirmed := trial.confirmation:
        accuracy = verdict(confirmed.accuracy) or "unknown"
        lines.append(f"**confirmed**: timing {confirmed.timing}, accuracy {accuracy}")
        lines += [f"**failed in confirmation**: {confirmed.failure}"] if confirmed.failure else []
    lines += [f"**why**: {text(told)}"] if told else []
    return "\n\n".join(lines) or None


def _effect_tags(effect: Effect) -> dict[str, object]:
    return {
        "effective_dtype": effect.effective_dtype,
        "xla_in_force": effect.xla,
        "loss_scaling": effect.loss_scaling,
        "share_16bit_from": "traced" if effect.is_traced else "declared",
        "tf32": effect.tf32,
        "placed_on": effect.placed_on,
    }


def _lost(trial: TrialView, metric: str) -> set[str]:
    """Names of what was measured and was not finite."""
    runs = [run for stage in trial.runs.values() for run in stage]
    lost = {f"val_{name(metric)}"} if any(run.metric_is_lost for run in runs) else set()
    if any(not run.loss_finite for run in runs) or (trial.probe and not trial.probe.loss_finite):
        lost.add("train_loss")
    return lost


def _rounded(value: float) -> float:
    """Nine significant digits: the UI would show 0.30000000000000004. The record keeps the measured value."""
    return float(f"{value:.9g}")
