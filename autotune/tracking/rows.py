"""What MLflow is told of one trial: parameters, metrics with their unit in the name, and tags. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autotune.record.view import StudyView, TrialView
from autotune.report.figures import predicted_step_ms
from autotune.tracking.names import name, spelt, widths
from autotune.trial import (
    Accuracy,
    AccuracyVerdict,
    Candidate,
    Confirmation,
    Effect,
    Interval,
    Probe,
    Stage,
    TrainingRun,
    TrialState,
)

Metrics = dict[str, float | None]


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
    """A row without what is unknown (`None`); metrics that are not finite are named in the tag `non_finite`."""
    broken = {key for key, value in metrics.items() if value is not None and not math.isfinite(value)}
    if named := sorted(non_finite | broken):
        tags = {**tags, "non_finite": ", ".join(named)}
    return Row(
        params={key: spelt(value) for key, value in params.items() if value is not None},
        metrics={key: _rounded(v) for key, v in metrics.items() if v is not None and key not in broken},
        tags={key: spelt(value) for key, value in tags.items() if value is not None},
    )


def trial_row(trial: TrialView, view: StudyView, metric: str) -> Row:
    """All that is known of a trial now; `metric` is the constraint's metric."""
    run = latest_run(trial)
    params = candidate_params(trial.candidate) | (_recipe_params(run) if run else {})
    metrics = _probe_metrics(trial.probe) | interval_metrics("speedup", trial.speedup)
    if view.space:  # for a target that is absent
        metrics["predicted_target_step_time_ms"] = predicted_step_ms(view, trial.candidate)
    metrics |= _training_metrics(trial, metric) | confirmed_metrics(trial.confirmation, metric)
    effect = run.effect if run else trial.probe.effect if trial.probe else None
    tags = study_tags(view) | _state_tags(trial) | (_effect_tags(effect) if effect else {})
    tags["recipe"] = str(run.recipe) if run else None
    return row(params, metrics, tags, _lost(trial, metric))


def candidate_params(candidate: Candidate) -> dict[str, object]:
    """What a candidate asks for."""
    return {
        "policy": candidate.policy,
        "batch_size": candidate.batch_size,
        "xla": candidate.xla.value,
        "widths": widths(candidate),
        "steps_per_execution": candidate.steps_per_execution,
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
    }


def title(hardware: dict[str, object]) -> str:
    """What people call a profile or a device."""
    return str(hardware.get("title") or hardware.get("name") or "unknown")


def interval_metrics(key: str, interval: Interval | None) -> Metrics:
    """An estimate and its bounds, as three metrics."""
    if interval is None:
        return {}
    return {key: interval.estimate, f"{key}_low": interval.low, f"{key}_high": interval.high}


def confirmed_metrics(confirmation: Confirmation | None, metric: str) -> Metrics:
    """The figures that may be quoted."""
    if confirmation is None:
        return {}
    delta = confirmation.accuracy.delta if confirmation.accuracy else None
    return {
        **interval_metrics("confirmed_speedup", confirmation.speedup),
        **interval_metrics("confirmed_accuracy_delta", delta),
        f"confirmed_val_{name(metric)}": confirmation.metric,
        f"confirmed_baseline_val_{name(metric)}": confirmation.baseline_metric,
        "confirmed_step_time_ms": confirmation.step_time_ms,
        "confirmed_baseline_step_time_ms": confirmation.baseline_step_time_ms,
    }


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
    recipe = run.recipe
    return {
        "optimizer": recipe.optimizer,
        "learning_rate": f"{recipe.learning_rate:.6g}",
        "base_learning_rate": f"{recipe.base_learning_rate:.6g}",
        "learning_rate_scaling": recipe.scaling,
        "schedule": recipe.schedule,
        "warmup_steps": recipe.warmup_steps,
        "train_examples": recipe.examples,
        "epochs": recipe.epochs,
        "total_steps": recipe.total_steps,
    }


def _probe_metrics(probe: Probe | None) -> Metrics:
    if probe is None:
        return {}
    return {
        "step_time_ms": probe.step_time_ms,
        "examples_per_s": probe.examples_per_s,
        "compile_s": probe.compile_s,
        "build_s": probe.build_s,
        "peak_memory_mb": probe.peak_memory_mb,
        "share_16bit": probe.effect.share_16bit,
        "parameters": probe.effect.parameters,
    }


def _training_metrics(trial: TrialView, metric: str) -> Metrics:
    run = latest_run(trial)
    if run is None:
        return {}
    runs = [run for stage in trial.runs.values() for run in stage]
    return {
        f"val_{name(metric)}": trial.latest_metric,
        "accuracy_delta": trial.latest_delta,
        "train_s": sum(run.train_s for run in runs) / len(runs),
        "seeds": len(runs),
        "skipped_steps": sum(run.skipped_steps for run in runs),
        "loss_scale": run.loss_scale,
    }


def _state_tags(trial: TrialView) -> dict[str, object]:
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
        "gate": _gate(trial),
        "verdict": verdict(confirmed.accuracy) if confirmed else None,
        "failure": failure.kind if failure else None,
        "failure_message": failure.message if failure else None,
        "mlflow.note.content": _note(trial),
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


def _note(trial: TrialView) -> str | None:
    lines = [f"**{trial.state.value}**: {trial.reason}"] if trial.state and trial.reason else []
    if trial.failure:
        lines = [f"**failed ({trial.failure.kind.value})**: {trial.failure.message}"]
        lines += [f"```\n{trial.failure.detail.strip()[-4000:]}\n```"] if trial.failure.detail.strip() else []
    if confirmed := trial.confirmation:
        accuracy = verdict(confirmed.accuracy) or "unknown"
        lines.append(f"**confirmed**: timing {confirmed.timing}, accuracy {accuracy}")
        lines += [f"**failed in confirmation**: {confirmed.failure}"] if confirmed.failure else []
    return "\n\n".join(lines) or None


def _effect_tags(effect: Effect) -> dict[str, object]:
    return {
        "effective_dtype": effect.effective_dtype,
        "xla_in_force": effect.xla,
        "loss_scaling": effect.loss_scaling,
        "tf32": effect.tf32,
        "placed_on": effect.placed_on,
    }


def _lost(trial: TrialView, metric: str) -> set[str]:
    """Names of what was measured and was not finite."""
    runs = [run for stage in trial.runs.values() for run in stage]
    lost = {f"val_{name(metric)}"} if any(run.metric is None for run in runs) else set()
    if any(not run.loss_finite for run in runs) or (trial.probe and not trial.probe.loss_finite):
        lost.add("train_loss")
    return lost


def _rounded(value: float) -> float:
    """Nine significant digits: the UI would show 0.30000000000000004. The record keeps the measured value."""
    return float(f"{value:.9g}")
