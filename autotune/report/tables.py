"""The tables of the report, as plain cells: what each trial is and became, its timing, its trainings.

Markdown and the page render them; a cell is text from elsewhere until then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from autotune.record.view import StudyView, TrialView
from autotune.report import blocks, figures, phrases, quoted, training
from autotune.report.measure import UNKNOWN, Measure
from autotune.report.objective import Goal
from autotune.trial import Stage

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Table:
    """Text cells; every row is as long as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def trials(view: StudyView) -> Table:
    """One row a trial, failures included."""
    measure, goal = Measure.of(view), Goal.of(view)
    header = ["trial", "state", "policy", "batch", "XLA", "widths", "steps per execution"]
    header += [*(["further settings"] if has_further(view) else []), "ms/step", "examples/s"]
    header += [] if goal.is_throughput else [f"{goal.label}, gain"]
    header += ["speedup", "speed from", measure.name, "difference", "verdict"]
    predicted = view.space is not None and bool(view.space.predicted)
    header += ["predicted on the target, speedup"] if predicted else []
    rows = []
    for _, trial in sorted(view.trials.items()):
        cells = [*_settings(view, trial), *_speed(view, goal, trial), *_accuracy(view, measure, trial)]
        if predicted:
            cells.append(or_unknown(figures.predicted_speedup(view, trial.candidate), lambda ratio: f"{ratio:.2f}x"))
        rows.append(tuple(cells))
    return Table(tuple(header), tuple(rows))


def _settings(view: StudyView, trial: TrialView) -> list[str]:
    candidate = trial.candidate
    return [
        str(trial.number),
        figures.state(view, trial),
        figures.policy(trial),
        str(candidate.batch_size),
        figures.xla(trial),
        phrases.widths(candidate) or UNKNOWN,
        str(candidate.steps_per_execution),
        *([phrases.further(candidate) or UNKNOWN] if has_further(view) else []),
    ]


def has_further(view: StudyView) -> bool:
    """Whether any trial has a setting that is searched only when asked for."""
    return any(trial.candidate.further for trial in view.trials.values())


def _speed(view: StudyView, goal: Goal, trial: TrialView) -> list[str]:
    stage = figures.speed_stage(trial)
    return [
        phrases.three_digits(figures.step_time_ms(trial)),
        or_unknown(figures.examples_per_s(trial), lambda rate: f"{rate:,.0f}"),
        *([] if goal.is_throughput else [or_unknown(figures.gain(view, trial), phrases.speedup)]),
        or_unknown(figures.speedup(trial), phrases.speedup),
        UNKNOWN if stage is None else stage.value,
    ]


def _accuracy(view: StudyView, measure: Measure, trial: TrialView) -> list[str]:
    return [
        measure.value(trial.latest_metric),
        difference(measure, trial),
        phrases.one_line(figures.verdict(view, trial)) or UNKNOWN,
    ]


def difference(measure: Measure, trial: TrialView) -> str:
    """The paired difference with its interval, where there is one."""
    interval = figures.delta_interval(trial)
    return measure.delta_interval(interval) if interval is not None else measure.delta(figures.delta(trial))


def timing(view: StudyView) -> Table | None:
    """What was timed beside the step, and what disturbed it; of the stage that the speed is from."""
    header = ("trial", "speed from", "build s", "first step s", "compile s", "pairs", "disturbed", "input pipeline")
    rows = []
    for number, trial in sorted(view.trials.items()):
        timed, stage, share = blocks.shown(trial), figures.speed_stage(trial), blocks.pipeline_share(trial)
        if stage is None or not timed.probes:
            continue
        rows.append(
            (
                *(f"{number}", stage.value),
                *(phrases.three_digits(time_s) for time_s in (timed.build_s, timed.first_step_s, timed.compile_s)),
                f"{timed.pairs} blocks" if trial.is_baseline else f"{timed.pairs}",
                f"{len(timed.suspicious)}",
                or_unknown(share, quoted.percent_of_step),
                or_unknown(timed.peak_memory_mb, lambda peak: f"{peak:,.0f}"),
            )
        )
    return Table((*header, "peak MB"), tuple(rows)) if rows else None


def trainings(view: StudyView) -> Table | None:
    """How learning went, over all trainings of each trial that was trained."""
    header = (
        *("trial", "trainings", "epoch s", f"s to float32's {Measure.of(view).name} within the margin"),
        *("loss scale at the end", "lowest", "steps skipped", "not finite", "FLOPs in 16 bit"),
    )
    rows = []
    for number, trial in sorted(view.trials.items()):
        health = training.health(training.all_runs(trial))
        if health is None:
            continue
        rows.append(
            (
                *(f"{number}", _count(health), phrases.three_digits(training.epoch_s(trial))),
                _time_to_accuracy(view, trial),
                or_unknown(health.loss_scale, lambda scale: f"{scale:g}"),
                or_unknown(health.loss_scale_lowest, lambda scale: f"{scale:g}"),
                f"{health.skipped_steps} ({phrases.share(health.skipped_share)})",
                f"{health.non_finite}",
                _share_16bit(trial),
            )
        )
    return Table(header, tuple(rows)) if rows else None


def _count(health: training.Health) -> str:
    early = f" ({health.stopped_early} stopped early)" if health.stopped_early else ""
    return f"{health.trainings}{early}"


def _time_to_accuracy(view: StudyView, trial: TrialView) -> str:
    found = training.time_to_accuracy(view, trial)
    if found is None:
        return UNKNOWN
    if missed := training.not_reached(found):
        return f"not reached on {missed} of {len(found.seeds)} seeds"
    return phrases.three_digits(training.mean_time_s(found.candidate_s))


def _share_16bit(trial: TrialView) -> str:
    effect = figures.effect(trial)
    if effect is None:
        return UNKNOWN
    return f"{effect.share_16bit * 100:.1f} %{'' if effect.is_traced else ' (declared)'}"


def or_unknown(value: Value | None, show: Callable[[Value], str]) -> str:
    """The value as shown, or that it is not known."""
    return UNKNOWN if value is None else show(value)


def reading(view: StudyView) -> str:
    """What must be known to read the table of trials."""
    told = (
        "Speed from `screen` is one short probe each: it ranks, it does not prove. Only `confirm` figures, from fresh"
        " processes and new seeds, are claims. A trial without an accuracy was not trained, or was stopped early."
        " XLA is as in force: `!` is not what was asked for, `?` was asked for and never ran."
    )
    if not Measure.of(view).higher_is_better:
        told += " A difference above zero is better: the metric has fallen."
    baseline = view.baseline
    runs = baseline.runs.get(Stage.BASELINE, []) if baseline is not None else []
    return f"{told} Accuracy {phrases.at_recipe(runs[0].recipe)}." if runs else told
