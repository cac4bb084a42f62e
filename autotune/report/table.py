"""`trials.csv`: one row a trial, failures included; an empty cell is unknown or does not apply."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from autotune.record.events import BASELINE_TRIAL
from autotune.record.view import StudyView, TrialView
from autotune.report import figures, phrases
from autotune.report.measure import Measure
from autotune.trial import Candidate, Interval, Policy, Recipe, Stage, Xla

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
    return f"{value:.8g}" if isinstance(value, float) else phrases.one_line(str(value))


def _cells(view: StudyView, trial: TrialView) -> Iterator[tuple[str, Cell]]:
    yield "trial", trial.number
    yield "state", figures.state(view, trial)
    yield "winner", figures.is_winner(view, trial)
    yield "reason", trial.reason or None
    yield from _settings(trial)
    yield from _screened(trial)
    yield from _trained(Measure.of(view), trial)
    yield from _confirmed(trial)
    failure = trial.failure or (trial.confirmation.failure if trial.confirmation is not None else None)
    yield "failure_kind", failure.kind.value if failure is not None else None
    yield "failure_message", failure.message if failure is not None else None
    yield "predicted_target_step_time_ms", figures.predicted_step_ms(view, trial.candidate)


def _settings(trial: TrialView) -> Iterator[tuple[str, Cell]]:
    candidate, effect = trial.candidate, figures.effect(trial)
    yield "policy", candidate.policy.name
    yield "effective_dtype", effect.effective_dtype if effect else None
    yield "flops_share_16bit", effect.share_16bit if effect else None
    yield "batch_size_examples", candidate.batch_size
    yield "xla_asked", candidate.xla.value
    yield "xla_in_force", Xla.ON.value if effect and effect.xla else Xla.OFF.value if effect else None
    yield "widths_units", phrases.widths(candidate)
    yield "steps_per_execution", candidate.steps_per_execution
    yield "parameters", effect.parameters if effect else None
    yield "loss_scaling", effect.loss_scaling if effect else None
    yield "tf32", effect.tf32 if effect else None


def _screened(trial: TrialView) -> Iterator[tuple[str, Cell]]:
    """Figures of the one probe: the screening's, or the baseline's own."""
    probe = trial.probe
    yield "screen_step_time_ms", probe.step_time_ms if probe else None
    yield "screen_examples_per_s", probe.examples_per_s if probe else None
    yield from _interval("screen_speedup_ratio", trial.speedup)
    yield "screen_timing_verdict", trial.timing.value if trial.timing else None
    yield "build_s", probe.build_s if probe else None
    yield "compile_s", probe.compile_s if probe else None
    yield "peak_memory_mb", probe.peak_memory_mb if probe else None


def _trained(measure: Measure, trial: TrialView) -> Iterator[tuple[str, Cell]]:
    runs = [run for runs in trial.runs.values() for run in runs]
    recipe: Recipe | None = runs[-1].recipe if runs else None
    yield "metric", measure.name
    yield "recipe_examples", recipe.examples if recipe else None
    yield "recipe_epochs", recipe.epochs if recipe else None
    yield "learning_rate", recipe.learning_rate if recipe else None
    stage = Stage.BASELINE if trial.is_baseline else Stage.VERIFY
    deltas = trial.deltas.get(stage, {})
    yield "verify_seeds", len(trial.runs.get(stage, ())) or None
    yield "verify_metric", trial.metric(stage)
    yield "verify_metric_delta", sum(deltas.values()) / len(deltas) if deltas else None
    yield "skipped_steps", figures.skipped_steps(trial)


def _confirmed(trial: TrialView) -> Iterator[tuple[str, Cell]]:
    confirmation = trial.confirmation
    accuracy = confirmation.accuracy if confirmation else None
    yield "confirm_step_time_ms", confirmation.step_time_ms if confirmation else None
    yield "confirm_baseline_step_time_ms", confirmation.baseline_step_time_ms if confirmation else None
    yield from _interval("confirm_speedup_ratio", confirmation.speedup if confirmation else None)
    yield "confirm_processes", len(confirmation.per_process) if confirmation else None
    yield "confirm_timing_verdict", confirmation.timing.value if confirmation else None
    yield "confirm_metric", confirmation.metric if confirmation else None
    yield "confirm_baseline_metric", confirmation.baseline_metric if confirmation else None
    yield from _interval("confirm_metric_delta", accuracy.delta if accuracy else None)
    yield "confirm_accuracy_verdict", accuracy.verdict.value if accuracy else None


def _interval(name: str, interval: Interval | None) -> Iterable[tuple[str, Cell]]:
    yield name, interval.estimate if interval else None
    yield f"{name}_low", interval.low if interval else None
    yield f"{name}_high", interval.high if interval else None
    yield f"{name}_level", interval.level if interval else None
    yield f"{name}_n", interval.n if interval else None
