"""The answer: what to use or keep, its few figures large, and what must be doubted, in sight."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.explain.ablation import Decomposition, decompose
from autotune.record.view import StudyView, TrialView
from autotune.report import figures, gained, phrases
from autotune.report.answer import Answer
from autotune.report.measure import Measure
from autotune.report.objective import Goal
from autotune.report.page.markup import Html, Row, described, items, join, paragraphs, section, table, tag, trial_link
from autotune.report.unfinished import unfinished
from autotune.trial import Confirmation

IDENT = "answer"


def banner(view: StudyView, result: Answer, remarks: Sequence[str]) -> Html:
    """Off target, stand-in data, an end before its time: nobody reads a figure without seeing these."""
    started = view.started
    loud = (
        [f"OFF TARGET: measured on {phrases.place(started.device)}, not on {phrases.place(started.target)}"]
        if (started is not None and not started.on_target)
        else []
    )
    loud += ["STAND-IN DATA: not the data set that was asked for"] if _stand_in(view) else []
    head = tag("strong", "; ".join(loud)) if loud else tag("strong", "What to know before reading a figure")
    lines = [*remarks, *unfinished(view), *result.warnings]
    if not lines:
        return Html()
    return tag("aside", join([tag("p", head), items(lines)]), class_="banner", role="note", aria_label="warnings")


def _stand_in(view: StudyView) -> bool:
    return view.worker is not None and view.worker.data.stand_in is not None


def answer_section(view: StudyView, result: Answer) -> Html:
    """Tiles for who has ten seconds, then every row of the answer, then the command."""
    command: list[str] = []
    if result.command is not None:
        command = [tag("p", "Train with it:"), tag("pre", tag("code", result.command), tabindex="0")]
    tiles = join(_tiles(view)) if result.found else ""
    told = [tag("div", tiles, class_="tiles")] if tiles else []
    rows = [*result.rows, ("exit status", result.exit_meaning)]
    return section(IDENT, "The answer", *told, described(rows), *command)


def _tiles(view: StudyView) -> list[Html]:
    winner = view.winner
    if winner is None or winner.confirmation is None:
        return []
    goal, confirmation = Goal.of(view), winner.confirmation
    found = []
    if not goal.is_throughput and confirmation.gain is not None:
        gain = confirmation.gain
        note = f"[{gain.low:.2f}, {gain.high:.2f}], {phrases.level(gain)}; {goal.word(confirmation.verdict)}"
        found.append(_tile(goal.label, f"{gain.estimate:.2f}x", note))
    if (speed := confirmation.speedup) is not None:
        note = f"[{speed.low:.2f}, {speed.high:.2f}], {phrases.level(speed)}; {confirmation.timing.value}"
        found.append(_tile("speed", f"{speed.estimate:.2f}x", note))
    return [*found, *_accuracy(Measure.of(view), confirmation), _settings(view, winner), _device(view)]


def _accuracy(measure: Measure, confirmation: Confirmation) -> list[Html]:
    judged = confirmation.accuracy
    if judged is None:
        return []
    # The unit stands with the estimate; the same difference with its interval is in the rows below.
    low, high = measure.delta(judged.delta.low), measure.delta(judged.delta.high)
    note = f"[{low}, {high}], {phrases.level(judged.delta)}; {judged.verdict.value} at a margin of"
    label = measure.name if measure.higher_is_better else f"{measure.name}, better by"
    return [_tile(label, measure.delta(judged.delta.estimate), f"{note} {measure.allowance(judged.margin)}")]


def _settings(view: StudyView, winner: TrialView) -> Html:
    changed = phrases.differences(winner.candidate, view.baseline.candidate) if view.baseline is not None else []
    return _tile("set", items(changed) if changed else str(winner.candidate), f"trial {winner.number}", class_="wide")


def _device(view: StudyView) -> Html:
    started = view.started
    if started is None:
        return Html()
    note = "the target" if started.on_target else f"NOT the target, {phrases.place(started.target)}"
    return _tile("measured on", phrases.place(started.device), note, class_="wide")


def _tile(label: str, figure: str, note: str, class_: str | None = None) -> Html:
    parts = [tag("p", label, class_="label"), tag("div", figure, class_="figure"), tag("p", note, class_="note")]
    return tag("div", join(parts), class_=f"tile {class_}" if class_ else "tile")


def gained_section(view: StudyView) -> Html:
    """Where the speedup comes from: one line a change."""
    found = decompose(view)
    if found is None or not found.steps:
        return Html()
    number = gained.trial_of(found)
    trial = view.trials.get(number)
    what = "the winner" if trial is not None and figures.is_winner(view, trial) else "the fastest that was timed"
    told = f"Trial {number}, {what}, step by step from the baseline through measured trials: {gained.SCREENED}."
    return section("gained", "Where the speedup comes from", tag("p", told), _factors(found), _rest(found))


def _factors(found: Decomposition) -> Html:
    most = max(1.0, *(step.ratio for step in found.steps))
    rows: list[Row] = [
        (
            step.change,
            join([gained.factor(step), _bar(step.ratio, most)], " "),
            trial_link(step.trial, f"trial {step.trial}"),
            trial_link(step.against, f"trial {step.against}"),
        )
        for step in found.steps
    ]
    if found.whole is not None:
        number = gained.trial_of(found)
        rows.append(("together", phrases.speedup(found.whole), trial_link(number, f"trial {number}"), "the baseline"))
    return table("Throughput gained by each change", ("change", "gain", "measured at", "against"), rows)


def _bar(ratio: float, most: float) -> Html:
    return tag("meter", "", value=f"{ratio:.3f}", max=f"{most:.3f}", aria_hidden="true")


def _rest(found: Decomposition) -> Html:
    rest = gained.rest_of(found)
    told = [f"Not accounted for by these changes: {rest:.2f}x."] if rest is not None else []
    return paragraphs([*told, *(f"Not told apart: {phrases.one_line(text)}" for text in found.missing)])
