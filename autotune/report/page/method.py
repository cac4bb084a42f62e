"""How it was measured, how to reproduce it, what was left out, what is predicted, and what was found in the model."""

from __future__ import annotations

from autotune.explain.findings import Finding
from autotune.explain.studied import findings_of
from autotune.record.view import StudyView
from autotune.report import figures, phrases, reproduce, tables
from autotune.report.method import how_measured
from autotune.report.page.markup import Html, block, described, items, join, more, section, table, tag


def findings_section(view: StudyView) -> Html:
    """What is wrong or worth knowing in the model itself; nothing where it was not looked into."""
    return section("findings", "Findings in the model", join(_finding(one) for one in findings_of(view)))


def _finding(one: Finding) -> Html:
    where = f" in {one.layer}" if one.layer else ""
    head = join([tag("span", one.severity.upper(), class_="severity"), tag("span", f"{one.kind}{where}")], " ")
    fix = join([tag("span", "fix", class_="label"), tag("code", one.fix)], " ")
    parts = [tag("h3", head), tag("p", one.why), tag("p", fix)]
    return tag("article", join(parts), class_=f"finding {one.severity.value}")


def method_section(view: StudyView) -> Html:
    """What stands behind the figures; tables of timing and trainings on demand."""
    timing, trainings = tables.timing(view), tables.trainings(view)
    return section(
        "method",
        "How it was measured",
        items(how_measured(view)),
        more("Timing of each trial, compilation apart", _table("Timing", timing)),
        more("Trainings of each trial", _table("Trainings", trainings)),
    )


def _table(caption: str, content: tables.Table | None) -> Html:
    return table(caption, content.header, content.rows) if content is not None else Html()


def reproduce_section(view: StudyView) -> Html:
    """Command, versions, device, data, seeds, configuration, record."""
    config = reproduce.configuration(view)
    of_first = " of the first session" if view.changed else ""
    shown = tag("pre", tag("code", block(config)), tabindex="0") if config else Html()
    return section(
        "reproduce",
        "How to reproduce it",
        described(reproduce.rows(view)),
        more(f"The whole configuration{of_first}", shown),
    )


def left_out_section(view: StudyView) -> Html:
    """What the search did not look at, and why."""
    return section("left-out", "Left out of the search", items(phrases.left_out(view)))


def predicted_section(view: StudyView) -> Html:
    """The target's own ranking, where it is not the device and its peaks are known."""
    ranking = figures.predicted_ranking(view)
    if not ranking or view.space is None or view.started is None:
        return Html()
    target = phrases.place(view.started.target)
    note = tag("p", f"PREDICTED, not measured: {phrases.one_line(view.space.prediction_note)}.")
    rows = [(str(candidate), f"{step_ms:.2f}", f"{ratio:.2f}x") for candidate, step_ms, ratio in ranking]
    header = ("setting", "ms/step, predicted", "speedup, predicted")
    return section("predicted", f"Predicted for {target}", note, table(f"Predicted for {target}", header, rows))
