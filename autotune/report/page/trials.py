"""Every trial, losers and failures included: one group of two lines each, its figures and why it ended as it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autotune.explain.why import why
from autotune.printable import printable
from autotune.record.view import StudyView, TrialView
from autotune.report import figures, phrases, tables, training
from autotune.report.measure import UNKNOWN, Measure
from autotune.report.objective import Goal
from autotune.report.page.markup import Html, block, esc, join, more, paragraphs, section, tag
from autotune.report.tradeoff import tradeoff
from autotune.trial import TrialState

IDENT = "trials"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the table.

    Attributes:
        column: the head of its column.
        text: as shown.
        order: what its column is sorted by; None for what is not known, which comes last whichever way.
        descends: whether a person wants the largest first.
    """

    column: str
    text: str
    order: float | str | None
    descends: bool = False


def trials_section(view: StudyView) -> Html:
    """The table; a line where there is no trial."""
    if not view.trials:
        return section(IDENT, "Every trial", paragraphs(["No trial was begun."], class_="missing"))
    content = tradeoff(view)
    plotted = {point.trial for point in (*content.trained, *content.untrained)} if content is not None else set()
    rows = [(trial, list(cells(view, trial))) for _, trial in sorted(view.trials.items())]
    columns = rows[0][1]
    head = join((_head(cell) for cell in columns), "")
    groups = join(_group(view, trial, row, trial.number in plotted) for trial, row in rows)
    count = len(view.trials)
    caption = tag("caption", f"{count} {'trial' if count == 1 else 'trials'}; a column's head sorts by it")
    # Roles are told since the narrow layout takes a table's own from it.
    table = (
        f'<table id="trials-table" class="trials" role="table" aria-describedby="trials-reading">{caption}'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>\n{groups}\n</table>'
    )
    box = f'<div class="scroll" tabindex="0" role="region" aria-label="Table of all trials">{table}</div>'
    told = tag("p", _reading(view), id="trials-reading", class_="reading")
    live = tag("p", "", id="trials-sorted", class_="hidden", role="status")
    return section(IDENT, "Every trial", told, Html(box), live)


def _reading(view: StudyView) -> Html:
    """Words between backquotes are code."""
    parts = tables.reading(view).split("`")
    return join((tag("code", part) if at % 2 else part for at, part in enumerate(parts)), " ")


def cells(view: StudyView, trial: TrialView) -> Iterator[Cell]:
    """Of one trial, in the order of the columns."""
    candidate = trial.candidate
    yield Cell("trial", str(trial.number), trial.number)
    yield Cell("state", figures.state(view, trial), _STATES.index(figures.state(view, trial)))
    yield Cell("policy", figures.policy(trial), figures.policy(trial))
    yield Cell("batch", f"{candidate.batch_size}", candidate.batch_size)
    yield Cell("XLA", figures.xla(trial), figures.xla(trial))
    yield Cell("widths", phrases.widths(candidate) or UNKNOWN, sum(candidate.widths))
    yield Cell("steps per execution", f"{candidate.steps_per_execution}", candidate.steps_per_execution)
    if tables.has_further(view):
        yield Cell("further settings", phrases.further(candidate) or UNKNOWN, phrases.further(candidate) or None)
    yield from _speed(view, trial)
    yield from _accuracy(view, trial)


_STATES = (
    *("winner", "confirmed", "baseline", "unconfirmed", "passed", "rejected"),
    *("skipped", "dominated", "slower", "screened", "started", "failed"),
)
"""By how far a trial came."""


def _speed(view: StudyView, trial: TrialView) -> Iterator[Cell]:
    step_ms, rate, stage = figures.step_time_ms(trial), figures.examples_per_s(trial), figures.speed_stage(trial)
    gain, ratio, goal = figures.gain(view, trial), figures.speedup(trial), Goal.of(view)
    yield Cell("ms/step", phrases.three_digits(step_ms), step_ms)
    yield Cell("examples/s", tables.or_unknown(rate, lambda value: f"{value:,.0f}"), rate, descends=True)
    if not goal.is_throughput:
        text = tables.or_unknown(gain, phrases.speedup)
        yield Cell(f"{goal.label}, gain", text, gain.estimate if gain else None, descends=True)
    text = tables.or_unknown(ratio, phrases.speedup)
    yield Cell("speedup", text, ratio.estimate if ratio else None, descends=True)
    yield Cell("speed from", stage.value if stage else UNKNOWN, stage.value if stage else None)


def _accuracy(view: StudyView, trial: TrialView) -> Iterator[Cell]:
    measure = Measure.of(view)
    up, delta = measure.higher_is_better, figures.delta(trial)
    yield Cell(measure.name, measure.value(trial.latest_metric), trial.latest_metric, descends=up)
    yield Cell("difference", tables.difference(measure, trial), delta, descends=True)
    if view.space is not None and view.space.predicted:
        ratio = figures.predicted_speedup(view, trial.candidate)
        text = tables.or_unknown(ratio, lambda value: f"{value:.2f}x")
        yield Cell("predicted on target", text, ratio, descends=True)


def _head(cell: Cell) -> Html:
    first = "descending" if cell.descends else "ascending"
    button = tag("button", cell.column, type="button", data_first=first)
    return tag("th", button, scope="col", role="columnheader", aria_sort="none")


def _group(view: StudyView, trial: TrialView, row: list[Cell], plotted: bool) -> Html:
    """Two lines that stay together when the table is sorted."""
    state = figures.state(view, trial)
    heads = tag("th", row[0].text, scope="row", role="rowheader", **_data(row[0]))
    rest = join((tag("td", cell.text, role="cell", **_data(cell)) for cell in row[1:]), "")
    told = tag("td", _told(view, trial, plotted), colspan=len(row), role="cell")
    lines = f'<tr role="row">{heads}{rest}</tr><tr role="row" class="told">{told}</tr>'
    return Html(
        f'<tbody id="trial-{trial.number}" class="state-{esc(state)}" role="rowgroup" tabindex="-1"'
        f' aria-label="trial {trial.number}, {esc(state)}">{lines}</tbody>'
    )


def _data(cell: Cell) -> dict[str, object]:
    order = "" if cell.order is None else cell.order
    return {"data_label": cell.column, "data_sort": f"{order:.8g}" if isinstance(order, float) else order}


def _told(view: StudyView, trial: TrialView, plotted: bool) -> Html:
    """The verdict, why, and the way back to the plot."""
    reason = phrases.one_line(why(view, trial))
    verdict = _verdict(trial) if reason else phrases.one_line(figures.verdict(view, trial))
    if trial.confirmation is not None and trial.confirmation.failure is None:
        verdict = phrases.one_line(figures.verdict(view, trial))
    parts: list[str] = [tag("span", verdict, class_="verdict")] if verdict else []
    if reason:
        parts.append(tag("span", reason, class_="why"))
    if plotted:
        name = f"show trial {trial.number} in the plot"
        marks = {"class_": "to-plot controls", "data_trial": trial.number, "aria_label": name}
        parts.append(tag("button", "in the plot", type="button", **marks))
    return join([*parts, _failure(trial)], " ")


def _verdict(trial: TrialView) -> str:
    """In a word or two, where a line beside it says more."""
    told = [trial.timing.value] if trial.timing is not None else []
    if trial.state in _GATE and not trial.is_baseline:
        told.append(_GATE[trial.state])
    elif trial.state in _LEFT:
        told.append(trial.state.value if training.all_runs(trial) else "not trained")
    failure = trial.failure or (trial.confirmation.failure if trial.confirmation is not None else None)
    return ", ".join([*told, *([failure.kind.value] if failure is not None else [])])


_GATE = {TrialState.PASSED: "passed the gate", TrialState.REJECTED: "rejected at the gate"}
_LEFT = (TrialState.DOMINATED, TrialState.SKIPPED)


def _failure(trial: TrialView) -> Html:
    """What failed, in full."""
    failure = trial.failure or (trial.confirmation.failure if trial.confirmation is not None else None)
    if failure is None:
        return Html()
    lines = [*failure.message.splitlines(), *failure.detail.splitlines()]
    return more(f"The failure ({failure.kind.value}) in full", tag("pre", block("\n".join(map(printable, lines)))))
