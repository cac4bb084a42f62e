"""`summary.md`: the answer first, then every trial. Also the description of the study's run in a tracker."""

from __future__ import annotations

from autotune.record.view import StudyView
from autotune.report import figures, markdown, phrases
from autotune.report.answer import answer
from autotune.report.markdown import text
from autotune.report.method import how_measured
from autotune.trial import Stage


def summary_markdown(view: StudyView, *, brief: bool = False) -> str:
    """The study in Markdown, readable as plain text too.

    Args:
        brief: without the tables of timing and trainings, for a place of little room that has them as metrics.
    """
    lines = [*_answer(view), *_section("Trials", [*markdown.trials(view), "", _reading(view)])]
    lines += _section("How it was measured", _items(how_measured(view)))
    if not brief:
        lines += _section("Timing, compilation apart", markdown.timing(view))
        lines += _section("Trainings", markdown.trainings(view))
    failed = [trial for _, trial in sorted(view.trials.items()) if trial.failure is not None]
    lines += _section("Failures", _items([f"trial {trial.number}: {trial.failure}" for trial in failed]))
    lines += _predictions(view)
    left_out = view.space.space.left_out if view.space is not None else ()
    lines += _section("Left out of the search", _items([f"{left.what}: {left.reason}" for left in left_out]))
    return "\n".join(lines) + "\n"


def _answer(view: StudyView) -> list[str]:
    result = answer(view)
    lines = [f"# {text(result.headline)}", ""]
    if view.started is not None:
        device, target = phrases.place(view.started.device), phrases.place(view.started.target)
        on = device if view.started.on_target else f"{device} (off target: {target} was asked for)"
        lines += [f"Model {text(phrases.model_name(view))} on {text(on)}, study {text(view.started.study)}.", ""]
    lines += [f"> **Warning:** {text(warning)}\n" for warning in result.warnings]
    lines += [f"- **{text(label)}**: {text(row)}" for label, row in result.rows]
    if result.command is not None:
        lines += ["", "Train with it:", "", f"    {result.command}"]
    return [*lines, "", f"Exit status {text(result.exit_meaning)}."]


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"## {title}", "", *lines] if lines else []


def _items(lines: list[str]) -> list[str]:
    return [f"- {text(line)}" for line in lines]


def _predictions(view: StudyView) -> list[str]:
    """The target's own ranking, where its peaks are known."""
    ranking = figures.predicted_ranking(view)
    if not ranking or view.space is None or view.started is None:
        return []
    note = f"PREDICTED, not measured: {text(phrases.one_line(view.space.prediction_note))}."
    rows = [f"{candidate}: {step_ms:.2f} ms/step, {ratio:.2f}x" for candidate, step_ms, ratio in ranking]
    return _section(f"Predicted for {text(phrases.place(view.started.target))}", [note, "", *_items(rows)])


def _reading(view: StudyView) -> str:
    reading = (
        "Speed from `screen` is one short probe each: it ranks, it does not prove. Only `confirm` figures, from fresh"
        " processes and new seeds, are claims. A trial without an accuracy was not trained, or was stopped early."
        " XLA is as in force: `!` is not what was asked for, `?` was asked for and never ran."
    )
    baseline = view.baseline
    runs = baseline.runs.get(Stage.BASELINE, []) if baseline is not None else []
    return f"{reading} Accuracy {phrases.at_recipe(runs[0].recipe)}." if runs else reading
