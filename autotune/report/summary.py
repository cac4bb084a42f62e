"""`summary.md`: the answer first, then every trial. Also the description of the study's run in a tracker."""

from __future__ import annotations

from autotune.record.view import StudyView, TrialView
from autotune.report import figures, phrases
from autotune.report.answer import answer, at_recipe
from autotune.report.measure import UNKNOWN, Measure
from autotune.trial import Stage


def summary_markdown(view: StudyView) -> str:
    """The study in Markdown, readable as plain text too."""
    result = answer(view)
    lines = [f"# {_text(result.headline)}", ""]
    if view.started is not None:
        device, target = phrases.place(view.started.device), phrases.place(view.started.target)
        on = device if view.started.on_target else f"{device} (off target: {target} was asked for)"
        lines += [f"Model {_text(phrases.model_name(view))} on {_text(on)}, study {_text(view.started.study)}.", ""]
    lines += [f"> **Warning:** {_text(warning)}\n" for warning in result.warnings]
    lines += [f"- **{_text(label)}**: {_text(text)}" for label, text in result.rows]
    if result.command is not None:
        lines += ["", "Train with it:", "", f"    {result.command}"]
    lines += ["", f"Exit status {result.exit_meaning}.", "", "## Trials", "", *_trials(view), "", _reading(view)]
    if failed := [trial for _, trial in sorted(view.trials.items()) if trial.failure is not None]:
        lines += ["", "## Failures", "", *(f"- trial {t.number}: {_text(str(t.failure))}" for t in failed)]
    lines += _predictions(view)
    if view.space is not None and view.space.space.left_out:
        lines += ["", "## Left out of the search", ""]
        lines += [f"- {_text(left.what)}: {_text(left.reason)}" for left in view.space.space.left_out]
    return "\n".join(lines) + "\n"


def _predictions(view: StudyView) -> list[str]:
    """The target's own ranking, where its peaks are known."""
    ranking = figures.predicted_ranking(view)
    if not ranking or view.space is None or view.started is None:
        return []
    target = _text(phrases.place(view.started.target))
    rows = [f"- {_text(str(candidate))}: {step_ms:.2f} ms/step, {ratio:.2f}x" for candidate, step_ms, ratio in ranking]
    note = f"PREDICTED, not measured: {_text(phrases.one_line(view.space.prediction_note))}."
    return ["", f"## Predicted for {target}", "", note, "", *rows]


def _trials(view: StudyView) -> list[str]:
    measure = Measure.of(view)
    predicted = view.space is not None and bool(view.space.predicted)
    header = [
        *("trial", "state", "policy", "batch", "XLA", "widths", "steps per execution", "ms/step", "examples/s"),
        *("speedup", "speed from", measure.name, "difference", "verdict"),
    ]
    if predicted:
        header.append("predicted on the target, speedup")
    rows = [header, ["---"] * len(header)]
    for _, trial in sorted(view.trials.items()):
        cells = _cells(view, measure, trial)
        if predicted:
            ratio = figures.predicted_speedup(view, trial.candidate)
            cells.append(UNKNOWN if ratio is None else f"{ratio:.2f}x")
        rows.append(cells)
    return [f"| {' | '.join(row)} |" for row in rows]


def _cells(view: StudyView, measure: Measure, trial: TrialView) -> list[str]:
    candidate = trial.candidate
    rate, ratio, stage = figures.examples_per_s(trial), figures.speedup(trial), figures.speed_stage(trial)
    interval, delta = figures.delta_interval(trial), figures.delta(trial)
    return [
        str(trial.number),
        figures.state(view, trial),
        candidate.policy.name,
        str(candidate.batch_size),
        figures.xla(trial),
        phrases.widths(candidate) or UNKNOWN,
        str(candidate.steps_per_execution),
        phrases.milliseconds(figures.step_time_ms(trial)),
        UNKNOWN if rate is None else f"{rate:,.0f}",
        UNKNOWN if ratio is None else phrases.speedup(ratio),
        UNKNOWN if stage is None else stage.value,
        measure.value(trial.latest_metric),
        measure.delta_interval(interval) if interval is not None else measure.delta(delta),
        _text(figures.verdict(trial)) or UNKNOWN,
    ]


def _reading(view: StudyView) -> str:
    text = (
        "Speed from `screen` is one short probe each: it ranks, it does not prove. Only `confirm` figures, from fresh"
        " processes and new seeds, are claims. A trial without an accuracy was not trained. XLA is as in force:"
        " `!` is not what was asked for, `?` was asked for and never ran."
    )
    baseline = view.baseline
    runs = baseline.runs.get(Stage.BASELINE, []) if baseline is not None else []
    return f"{text} Accuracy {at_recipe(runs[0].recipe)}." if runs else text


def _text(text: str) -> str:
    """Text from elsewhere, harmless within Markdown: no new line, no cell border, no HTML."""
    safe = phrases.one_line(text).replace("\\", "\\\\")
    for character in "|<*`":
        safe = safe.replace(character, f"\\{character}" if character != "<" else "&lt;")
    return safe
