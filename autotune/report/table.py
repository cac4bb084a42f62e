"""`trials.csv`: one row a trial, failures included; an empty cell is unknown or does not apply."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from autotune.explain.why import why
from autotune.record.events import BASELINE_TRIAL
from autotune.record.view import StudyView, TrialView
from autotune.report import blocks, figures, phrases, training
from autotune.report.measure import Measure
from autotune.report.objective import Goal
from autotune.trial import Accuracy, Candidate, Interval, Policy, Recipe, Stage, TimeToAccuracy, Xla

Cell: TypeAlias = str | int | float | bool | None

_NO_TRIAL = TrialView(BASELINE_TRIAL, Candidate(Policy("float32"), 1, Xla.AUTO, ()))
"""Names the columns, so that a study without trials has a table too."""


def trials_csv(view: StudyView) -> str:
    """The table as text. Differences and bounds of the metric are in the metric's own unit, higher is better."""
    rows = [dict(_cells(view, trial)) for _, trial in sorted(view.trials.items())]
    columns = [name for name, _ in _cells(view, _NO_TRIAL)]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: _cell(value) for column, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.8g}"
    return _no_formula(phrases.one_line(value)) if isinstance(value, str) else str(value)


def _no_formula(text: str) -> str:
    """Text that a spreadsheet takes for text: what begins like this it would compute, or fetch, as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _cells(view: StudyView, trial: TrialView) -> Iterator[tuple[str, Cell]]:
    yield "trial", trial.number
    yield "state", figures.state(view, trial)
    yield "winner", figures.is_winner(view, trial)
    yield "reason", trial.reason or None
    yield "why", (why(view, trial) or None) if trial.number in view.trials else None
    yield from _settings(trial)
    yield from _screened(view, trial)
    yield from _trained(view, trial)
    yield from _confirmed(view, trial)
    failure = trial.failure or (trial.confirmation.failure if trial.confirmation is not None else None)
    yield "failure_kind", failure.kind.value if failure is not None else None
    yield "failure_message", failure.message if failure is not None else None
    yield "predicted_target_step_time_ms", figures.predicted_step_ms(view, trial.candidate)


def _settings(trial: TrialView) -> Iterator[tuple[str, Cell]]:
    candidate, effect = trial.candidate, figures.effect(trial)
    yield "policy", str(candidate.policy)
    yield "effective_dtype", effect.effective_dtype if effect else None
    yield "flops_share_16bit", effect.share_16bit if effect else None
    yield "flops_share_16bit_from", ("traced" if effect.is_traced else "declared") if effect else None
    yield "batch_size_examples", candidate.batch_size
    yield "xla_asked", candidate.xla.value
    yield "xla_in_force", Xla.ON.value if effect and effect.xla else Xla.OFF.value if effect else None
    yield "widths_units", phrases.widths(candidate)
    yield "steps_per_execution", candidate.steps_per_execution
    yield "accumulation", candidate.accumulation
    yield "pipeline", candidate.pipeline.value
    yield "tf32_asked", phrases.on_off(candidate.tf32)
    yield "parameters", effect.parameters if effect else None
    yield "loss_scaling", effect.loss_scaling if effect else None
    yield "tf32", effect.tf32 if effect else None


def _screened(view: StudyView, trial: TrialView) -> Iterator[tuple[str, Cell]]:
    """Figures of the one probe: the screening's, or the baseline's own."""
    probe, timed = trial.probe, blocks.screening(trial)
    yield "screen_step_time_ms", probe.step_time_ms if probe else None
    yield "screen_examples_per_s", probe.examples_per_s if probe else None
    yield from _interval("screen_speedup_ratio", trial.speedup)
    yield "screen_timing_verdict", trial.timing.value if trial.timing else None
    yield from _interval("screen_gain_ratio", trial.speedup if Goal.of(view).is_throughput else trial.objective_gain)
    yield from _blocks("screen", timed)
    yield "screen_given_up_below", probe.hopeless_below if probe else None
    yield "build_s", timed.build_s
    yield "first_step_s", timed.first_step_s
    yield "compile_s", timed.compile_s
    yield "peak_memory_mb", timed.peak_memory_mb
    yield from _interval("pipeline_share", blocks.pipeline_share(trial))


def _blocks(stage: str, timed: blocks.Blocks) -> Iterator[tuple[str, Cell]]:
    """What stands behind a speed; `suspicious_pairs` count as all others do."""
    lengths = timed.lengths_ms
    yield f"{stage}_pairs", timed.pairs or None
    yield f"{stage}_suspicious_pairs", len(timed.suspicious) if timed.probes else None
    yield f"{stage}_rounds_apart", timed.rounds_apart if timed.probes else None
    yield f"{stage}_block_ms", statistics.median(lengths) if lengths else None
    yield f"{stage}_sync_share", timed.sync_share


def _trained(view: StudyView, trial: TrialView) -> Iterator[tuple[str, Cell]]:
    runs, measure = training.all_runs(trial), Measure.of(view)
    recipe: Recipe | None = runs[-1].recipe if runs else None
    yield "metric", measure.name
    yield "metric_direction", measure.direction
    yield "recipe_examples", recipe.examples if recipe else None
    yield "recipe_epochs", recipe.epochs if recipe else None
    yield "learning_rate", recipe.learning_rate if recipe else None
    stage = Stage.BASELINE if trial.is_baseline else Stage.VERIFY
    yield "verify_seeds", sum(run.stopped is None for run in trial.runs.get(stage, ())) or None
    yield "verify_metric", trial.metric(stage)
    yield "verify_metric_delta", trial.delta(stage)
    yield "epoch_s", training.epoch_s(trial)
    yield from _learned(training.time_to_accuracy(view, trial))
    yield from _health(training.health(runs))


def _learned(found: TimeToAccuracy | None) -> Iterator[tuple[str, Cell]]:
    """Of the confirmation where there was one, else of the verify stage; no mean where a seed did not get there."""
    yield "time_to_accuracy_s", training.mean_time_s(found.candidate_s) if found else None
    yield "baseline_time_to_accuracy_s", training.mean_time_s(found.baseline_s) if found else None
    yield "time_to_accuracy_seeds", len(found.seeds) if found else None
    yield "time_to_accuracy_seeds_not_reached", training.not_reached(found) if found else None
    yield from _interval("time_to_accuracy_ratio", found.ratio if found else None)


def _health(found: training.Health | None) -> Iterator[tuple[str, Cell]]:
    """Over all trainings of the trial."""
    yield "trainings", found.trainings if found else None
    yield "loss_scale", found.loss_scale if found else None
    yield "loss_scale_lowest", found.loss_scale_lowest if found else None
    yield "skipped_steps", found.skipped_steps if found else None
    yield "skipped_steps_share", found.skipped_share if found else None
    yield "non_finite_trainings", found.non_finite if found else None
    yield "trainings_stopped_early", found.stopped_early if found else None


def _confirmed(view: StudyView, trial: TrialView) -> Iterator[tuple[str, Cell]]:
    confirmation = trial.confirmation
    yield "confirm_step_time_ms", confirmation.step_time_ms if confirmation else None
    yield "confirm_baseline_step_time_ms", confirmation.baseline_step_time_ms if confirmation else None
    yield from _interval("confirm_speedup_ratio", confirmation.speedup if confirmation else None)
    yield "confirm_processes", len(confirmation.per_process) if confirmation else None
    yield "confirm_timing_verdict", confirmation.timing.value if confirmation else None
    yield "objective", Goal.of(view).name
    yield from _interval("confirm_gain_ratio", confirmation.gain if confirmation else None)
    yield "confirm_gain_verdict", confirmation.verdict.value if confirmation else None
    yield from _blocks("confirm", blocks.confirmation(trial))
    yield "confirm_epoch_s", confirmation.epoch_s if confirmation else None
    yield "confirm_baseline_epoch_s", confirmation.baseline_epoch_s if confirmation else None
    yield "confirm_metric", confirmation.metric if confirmation else None
    yield "confirm_baseline_metric", confirmation.baseline_metric if confirmation else None
    yield from _judged(confirmation.accuracy if confirmation else None)


def _judged(accuracy: Accuracy | None) -> Iterator[tuple[str, Cell]]:
    yield from _interval("confirm_metric_delta", accuracy.delta if accuracy else None)
    yield "confirm_metric_margin", accuracy.margin if accuracy else None
    yield "confirm_metric_sampling_error", accuracy.sampling_error if accuracy else None
    yield "confirm_accuracy_verdict", accuracy.verdict.value if accuracy else None
    yield "confirm_seeds_needed", accuracy.seeds_needed if accuracy else None


def _interval(name: str, interval: Interval | None) -> Iterable[tuple[str, Cell]]:
    yield name, interval.estimate if interval else None
    yield f"{name}_low", interval.low if interval else None
    yield f"{name}_high", interval.high if interval else None
    yield f"{name}_level", interval.level if interval else None
    yield f"{name}_n", interval.n if interval else None
