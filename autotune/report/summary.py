"""`summary.md`: the answer first, then every trial. Also the description of the study's run in a tracker."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.explain.ablation import decompose
from autotune.explain.studied import findings_of
from autotune.explain.why import why
from autotune.record.view import StudyView
from autotune.report import figures, gained, markdown, phrases, reproduce, tables
from autotune.report.answer import answer
from autotune.report.markdown import text
from autotune.report.method import how_measured
from autotune.report.unfinished import unfinished


def summary_markdown(view: StudyView, remarks: Sequence[str] = (), *, brief: bool = False) -> str:
    """The study in GitHub's Markdown, readable as plain text too.

    Args:
        view: a study in whatever state.
        remarks: what a reader must know beside the record, one line each.
        brief: without the tables of timing and trainings, the lines of each trial and how to reproduce it: for a place
            of little room that has them elsewhere.
    """
    lines = [*_answer(view, remarks), *_section("Where the speedup comes from", _gained(view))]
    lines += _section("Trials", [*markdown.trials(view), "", tables.reading(view)])
    if not brief:
        lines += _section("Why each trial ended as it did", _why(view))
        lines += _section("Findings in the model", _findings(view))
    lines += _section("How it was measured", _items(how_measured(view)))
    if not brief:
        lines += _section("Timing, compilation apart", markdown.rendered(tables.timing(view)))
        lines += _section("Trainings", markdown.rendered(tables.trainings(view)))
    failed = [trial for _, trial in sorted(view.trials.items()) if trial.failure is not None]
    lines += _section("Failures", _items([f"trial {trial.number}: {trial.failure}" for trial in failed]))
    lines += _predictions(view)
    lines += _section("Left out of the search", _items(phrases.left_out(view)))
    if not brief:
        lines += _section("How to reproduce it", [f"- **{text(at)}**: {text(row)}" for at, row in reproduce.rows(view)])
    return "\n".join(lines) + "\n"


def _answer(view: StudyView, remarks: Sequence[str]) -> list[str]:
    result = answer(view)
    lines = [f"# {text(result.headline)}", ""]
    if view.started is not None:
        device, target = phrases.place(view.started.device), phrases.place(view.started.target)
        on = device if view.started.on_target else f"{device} (off target: {target} was asked for)"
        lines += [f"Model {text(phrases.model_name(view))} on {text(on)}, study {text(view.started.study)}.", ""]
    warnings = [*remarks, *unfinished(view), *result.warnings]
    # One quotation, a line break after each: the answer's rows stay near the top.
    lines += ["\\\n".join(f"> **Warning:** {text(warning)}" for warning in warnings), ""] if warnings else []
    lines += [f"- **{text(label)}**: {text(row)}" for label, row in result.rows]
    if result.command is not None:
        lines += ["", "Train with it:", "", f"    {result.command}"]
    return [*lines, "", f"Exit status {text(result.exit_meaning)}."]


def _gained(view: StudyView) -> list[str]:
    found = decompose(view)
    return _items(gained.lines(found)) if found is not None and found.steps else []


def _why(view: StudyView) -> list[str]:
    told = [(number, why(view, trial)) for number, trial in sorted(view.trials.items())]
    return [f"- **trial {number}**: {text(line)}" for number, line in told if line]


def _findings(view: StudyView) -> list[str]:
    lines = []
    for one in findings_of(view):
        where = f" in {text(one.layer)}" if one.layer else ""
        lines.append(f"- **{one.severity.upper()}** {text(one.kind)}{where}: {text(one.why)}. Fix: {text(one.fix)}")
    return lines


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
