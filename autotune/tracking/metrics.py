"""What MLflow is told in numbers, the unit in the name; without one it is a ratio or a share. Pure.

A name tells the stage: `screen_` ranks and proves nothing, `confirmed_` may be quoted. A confirmed trial and the study
have the confirmed figures under the short names `speedup`, `step_time_ms` and `examples_per_s` too, so that one column
of the table of runs sorts claims, and claims only. Every trial that was measured has `screen_speedup`, and every one
that was trained `accuracy_delta`, so that MLflow's charts can draw one against the other; the baseline's, against
itself, are 1 and 0.

What stands behind these figures has a section before a slash (`timing/`, `training/`, `structure/`), which MLflow's
charts fold. MLflow's page for comparing runs begins with the first names in alphabetical order: `accuracy_delta` where
all were trained, and otherwise `screen_examples_per_s`. So no other figure of a trial may come before them.
"""

from __future__ import annotations

from dataclasses import replace

from autotune.record.view import StudyView, TrialView
from autotune.report import blocks, figures, training
from autotune.report.blocks import Blocks
from autotune.report.objective import Goal
from autotune.tracking.names import name
from autotune.trial import Confirmation, Interval, TimeToAccuracy

Metrics = dict[str, float | None]

TIMING, TRAINING, STRUCTURE = "timing/", "training/", "structure/"
"""Sections of what a reader looks up and does not sort by."""


def trial_metrics(trial: TrialView, view: StudyView, metric: str) -> Metrics:
    """All of a trial now; `metric` is the constraint's."""
    metrics = _screened(view, trial)
    if view.space:  # for a target that is absent
        metrics["target_predicted_step_time_ms"] = figures.predicted_step_ms(view, trial.candidate)
    metrics |= _trained(view, trial, metric)
    if trial.confirmation is not None:
        metrics |= confirmed_metrics(trial.confirmation, metric) | short_names(trial.confirmation)
        metrics |= blocks_metrics("confirmed", blocks.confirmation(trial))
    return metrics


def interval_metrics(key: str, interval: Interval | None) -> Metrics:
    """An estimate and its bounds, as three metrics."""
    if interval is None:
        return {}
    return {key: interval.estimate, f"{key}_low": interval.low, f"{key}_high": interval.high}


def confirmed_metrics(confirmation: Confirmation | None, metric: str) -> Metrics:
    """The figures that may be quoted."""
    if confirmation is None:
        return {}
    accuracy = confirmation.accuracy
    return {
        **interval_metrics("confirmed_speedup", confirmation.speedup),
        **interval_metrics("confirmed_gain", confirmation.gain),
        **interval_metrics("confirmed_accuracy_delta", accuracy.delta if accuracy else None),
        "confirmed_accuracy_sampling_error": accuracy.sampling_error if accuracy else None,
        "confirmed_margin": accuracy.margin if accuracy else None,
        f"confirmed_val_{name(metric)}": confirmation.metric,
        f"confirmed_baseline_val_{name(metric)}": confirmation.baseline_metric,
        "confirmed_step_time_ms": confirmation.step_time_ms,
        "confirmed_baseline_step_time_ms": confirmation.baseline_step_time_ms,
        "confirmed_epoch_s": confirmation.epoch_s,
        "confirmed_baseline_epoch_s": confirmation.baseline_epoch_s,
        **_learned("confirmed_", confirmation.time_to_accuracy),
    }


def short_names(confirmation: Confirmation) -> Metrics:
    """The confirmed speed under the names that sort a table of runs."""
    step_ms = confirmation.step_time_ms
    return {
        **interval_metrics("speedup", confirmation.speedup),
        "step_time_ms": step_ms,
        "examples_per_s": confirmation.candidate.batch_size / step_ms * 1e3 if step_ms else None,
    }


def blocks_metrics(stage: str, timed: Blocks) -> Metrics:
    """What stands behind a speed; suspicious pairs count in it as all others do."""
    if not timed.probes:
        return {}
    return {
        f"{TIMING}{stage}_pairs": timed.pairs,
        f"{TIMING}{stage}_suspicious_pairs": len(timed.suspicious),
        f"{TIMING}{stage}_sync_share": timed.sync_share,
        f"{TIMING}{stage}_rounds_apart": timed.rounds_apart,
    }


def _screened(view: StudyView, trial: TrialView) -> Metrics:
    """Of the one short probe, or the baseline's own."""
    probe, timed = trial.probe, blocks.screening(trial)
    if probe is None:
        return {}
    return {
        "screen_step_time_ms": probe.step_time_ms,
        "screen_examples_per_s": probe.examples_per_s,
        **({"screen_speedup": 1.0} if trial.is_baseline else interval_metrics("screen_speedup", trial.speedup)),
        **interval_metrics("screen_gain", None if Goal.of(view).is_throughput else trial.objective_gain),
        "screen_peak_memory_mb": timed.peak_memory_mb,
        **blocks_metrics("screen", timed),
        f"{TIMING}screen_given_up_below": probe.hopeless_below,
        **interval_metrics(f"{TIMING}pipeline_share", blocks.pipeline_share(trial)),
        f"{TIMING}build_s": timed.build_s,
        f"{TIMING}first_step_s": timed.first_step_s,
        f"{TIMING}compile_s": timed.compile_s,
        f"{STRUCTURE}share_16bit": probe.effect.share_16bit,
        f"{STRUCTURE}parameters": probe.effect.parameters,
    }


def _trained(view: StudyView, trial: TrialView, metric: str) -> Metrics:
    runs = training.all_runs(trial)
    health = training.health(runs)
    if health is None:
        return {}
    whole = [run.train_s for run in runs if run.stopped is None]  # one that was stopped early reads too short
    verified = replace(trial, confirmation=None)  # what that stage saw stands beside what the next one says
    return {
        f"val_{name(metric)}": trial.latest_metric,
        "accuracy_delta": 0.0 if trial.is_baseline else trial.latest_delta,
        "train_s": sum(whole) / len(whole) if whole else None,
        "train_epoch_s": training.epoch_s(trial),
        **_learned(f"{TRAINING}verify_", training.time_to_accuracy(view, verified)),
        f"{TRAINING}seeds": health.trainings - health.stopped_early or None,
        f"{TRAINING}skipped_steps": health.skipped_steps,
        f"{TRAINING}skipped_steps_share": health.skipped_share,
        f"{TRAINING}non_finite_trainings": health.non_finite,
        f"{TRAINING}stopped_early": health.stopped_early,
        f"{TRAINING}loss_scale": health.loss_scale,
        f"{TRAINING}loss_scale_lowest": health.loss_scale_lowest,
    }


def _learned(prefix: str, found: TimeToAccuracy | None) -> Metrics:
    """Means over seeds; none where a seed did not get there, which is counted instead."""
    if found is None:
        return {}
    return {
        f"{prefix}time_to_accuracy_s": training.mean_time_s(found.candidate_s),
        f"{prefix}baseline_time_to_accuracy_s": training.mean_time_s(found.baseline_s),
        f"{prefix}time_to_accuracy_seeds_not_reached": training.not_reached(found),
        **interval_metrics(f"{prefix}time_to_accuracy_ratio", found.ratio),
    }
