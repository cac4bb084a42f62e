"""What to use and why: the rows that the console's last panel and the summary both show.

Only confirmed figures are quoted here, but for the rows `from` and `front`, which say of themselves what stage they are
of. What else was measured belongs in the table, under that name.
"""

from __future__ import annotations

from dataclasses import dataclass

from autotune.explain.ablation import decompose
from autotune.printable import printable
from autotune.record.events import Exported
from autotune.record.view import StudyView, TrialView
from autotune.report import figures, front, gained, phrases, quoted
from autotune.report.measure import Measure
from autotune.report.objective import Goal
from autotune.report.unfinished import export_is_missing
from autotune.trial import Recipe, Stage, TrialState

_CLOSEST = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one study.

    Attributes:
        found: whether a confirmed winner is the answer.
        headline: one line.
        rows: label and text, in reading order.
        warnings: what a reader of any figure must know.
        command: trains with what was exported; `None` when nothing was.
        exit_meaning: the exit status of the run, and what it says.
    """

    found: bool
    headline: str
    rows: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    command: str | None
    exit_meaning: str


def answer(view: StudyView) -> Answer:
    """The answer, as far as the study came."""
    winner = view.winner
    found = winner is not None and figures.is_winner(view, winner)
    if found and winner is not None:
        rows = _use(view, winner)
        headline = f"Use trial {winner.number}: {_gain(view, winner)}"
    else:
        rows = _why_not(view)
        headline = _no_gain(view)
    command = None
    if view.exported is not None:
        command = phrases.train_command(view.exported.folder, view.started.config if view.started else {})
    rows += front.rows(view)
    rows += [("compared", text) for text in quoted.compared(view)]
    rows += (*_where(view), *_files(view))
    return Answer(
        found=found,
        headline=printable(headline),
        rows=tuple((printable(label), printable(text)) for label, text in rows),
        warnings=tuple(map(printable, warnings(view))),
        command=printable(command) if command else None,
        exit_meaning=_exit_meaning(view, found),
    )


_BY_SIGNAL = "130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP"
"""The record does not tell which it was."""


def _exit_meaning(view: StudyView, found: bool) -> str:
    if view.decided is not None and view.decided.interrupted:
        return f"{_BY_SIGNAL}: ended early ({phrases.one_line(view.decided.interrupted)})"
    if export_is_missing(view):
        return f"{_BY_SIGNAL}, 1 or 2 after an error: ended before the export was finished"
    if found:
        better = "faster" if Goal.of(view).is_speed else f"better in {Goal.of(view).label}"
        return f"0: a setting that is {better} and not less accurate"
    return "3: nothing was confirmed to beat the baseline" if view.decided is not None else "unknown: not decided"


def warnings(view: StudyView) -> tuple[str, ...]:
    """Every warning of the study once, in order; an absent target and stand-in data are never left unsaid."""
    texts = [phrases.one_line(note.text) for note in view.notes if note.level == "warning"]
    topics = {note.topic for note in view.notes if note.level == "warning"}
    started, worker = view.started, view.worker
    if started is not None and not started.on_target and "off_target" not in topics:
        texts.append(f"off target: {phrases.one_line(started.target_note)}")
    if worker is not None and worker.data.stand_in and "stand_in" not in topics:
        texts.append(f"stand-in data: {phrases.one_line(worker.data.stand_in)}")
    if view.changed:
        changed = phrases.one_line("; ".join(view.changed))
        texts.append(f"a later session went on with what had changed since the first one, as it was told to: {changed}")
    return tuple(dict.fromkeys(texts))


def _gain(view: StudyView, winner: TrialView) -> str:
    measure, goal, confirmation = Measure.of(view), Goal.of(view), winner.confirmation
    gain = None
    if confirmation is not None:
        gain = confirmation.speedup if goal.is_throughput else confirmation.gain
    if confirmation is None or gain is None:
        return str(winner.candidate)
    better = goal.claim.format(gain.estimate)
    size = confirmation.accuracy.margin if confirmation.accuracy is not None else measure.margin
    margin = f", within a margin of {measure.allowance(size)}" if size is not None else ""
    return f"{better}, and not less accurate{margin}"


def _no_gain(view: StudyView) -> str:
    if view.decided is None:
        return "No answer: the study was not decided"
    better = "faster" if Goal.of(view).is_speed else "better"
    headline = f"Keep the float32 baseline: no {better} setting was confirmed"
    if view.decided.interrupted:
        headline += f" before the study ended early ({phrases.one_line(view.decided.interrupted)})"
    return headline


def _use(view: StudyView, winner: TrialView) -> list[tuple[str, str]]:
    rows = [("settings", _settings(view, winner)), *quoted.confirmed(view, winner)]
    found = decompose(view)
    if found is not None and found.steps:
        after = 1 + max((at for at, (label, _) in enumerate(rows) if label in ("settings", "speed")), default=0)
        rows.insert(after, ("from", gained.in_short(found)))
    return rows


def _settings(view: StudyView, winner: TrialView) -> str:
    if view.baseline is None:
        return str(winner.candidate)
    changed = phrases.differences(winner.candidate, view.baseline.candidate)
    recipe = winner.confirmation.recipe if winner.confirmation is not None else None
    if recipe is not None and recipe.learning_rate != recipe.base_learning_rate:
        rate = f"{recipe.learning_rate:.4g} (was {recipe.base_learning_rate:.4g}, {recipe.scaling} with the batch)"
        changed.append(f"learning rate {rate}")
    return ", ".join(changed) or "the baseline's own"


def _why_not(view: StudyView) -> list[tuple[str, str]]:
    rows = []
    if view.decided is not None:
        rows.append(("why", phrases.one_line(view.decided.reason)))
    early = view.decided is not None and view.decided.interrupted is not None
    for trial in _closest(view):
        best = early and len(rows) == 1 and trial.state is TrialState.PASSED
        label = f"best so far, trial {trial.number}" if best else f"trial {trial.number}"
        rows.append((label, f"{trial.candidate}: {_shortfall(view, trial)}"))
    recipe = _recipe(view)
    if recipe is not None:
        rows.append(("recipe", f"{phrases.at_recipe(recipe)}; the verdicts speak of nothing else"))
    return rows


def _closest(view: StudyView) -> list[TrialView]:
    """The candidates that came furthest, then the best."""
    order = {TrialState.PASSED: 1, TrialState.REJECTED: 2, TrialState.SKIPPED: 3, TrialState.SCREENED: 4}

    def rank(trial: TrialView) -> tuple[int, float]:
        gain = figures.gain(view, trial) or trial.gain
        stage = 0 if trial.confirmation is not None else order.get(trial.state, 9) if trial.state else 9
        return stage, -(gain.estimate if gain is not None else 0.0)

    candidates = [trial for trial in view.trials.values() if not trial.is_baseline and trial.state]
    return sorted(candidates, key=rank)[:_CLOSEST]


def _shortfall(view: StudyView, trial: TrialView) -> str:
    if trial.confirmation is not None:
        return quoted.shortfall(view, trial.confirmation)
    if trial.state is TrialState.PASSED:
        return "passed the gate, not confirmed"
    if trial.state is TrialState.SCREENED:
        return "screened, not verified"
    return f"{figures.state_word(trial)}, {phrases.one_line(trial.reason)}".rstrip(", ")


def _recipe(view: StudyView) -> Recipe | None:
    if view.fidelity is not None:
        return view.fidelity.recipe
    runs = view.baseline.runs.get(Stage.BASELINE, []) if view.baseline is not None else []
    return runs[0].recipe if runs else None


def _where(view: StudyView) -> list[tuple[str, str]]:
    if view.started is None:
        return []
    rows = [("device", f"{phrases.place(view.started.device)}: every measured figure is of this device")]
    if not view.started.on_target:
        rows.append(
            ("target", f"OFF TARGET: {phrases.place(view.started.target)} was asked for; nothing was measured on it")
        )
        if view.decided is not None and (winner := view.winner) is not None and not winner.is_baseline:
            ratio = figures.predicted_speedup(view, winner.candidate)
            if ratio is not None and view.space is not None:
                note = phrases.one_line(view.space.prediction_note)
                rows.append(("predicted", f"{ratio:.2f}x on the target, PREDICTED, not measured ({note})"))
    if view.worker is not None and view.worker.data.stand_in:
        rows.append(("data", f"STAND-IN: {view.worker.data.name}; {phrases.one_line(view.worker.data.stand_in)}"))
    return rows


def _files(view: StudyView) -> list[tuple[str, str]]:
    exported, measure = view.exported, Measure.of(view)
    rows = []
    if exported is not None:
        rows.append(("test part", _test_part(exported, measure)))
        names = ", ".join(path.removeprefix(exported.folder).lstrip("/") for path in exported.files.values())
        rows.append(("exported", f"{exported.folder}: {names}"))
        rows.append(("alias", phrases.one_line(exported.alias_told)))
    if view.started is not None:
        rows.append(("record", view.started.output_dir))
    return rows


def _test_part(exported: Exported, measure: Measure) -> str:
    text = f"{measure.name} {'not finite' if exported.test_metric is None else measure.value(exported.test_metric)}"
    if exported.baseline_test_metric is not None:
        text += f" against {measure.value(exported.baseline_test_metric)} of the baseline"
    if exported.test_delta is not None:
        interval = exported.test_delta
        text += (
            f": {measure.delta_interval(interval)}{measure.orientation} ({phrases.level(interval)}, n = {interval.n:,})"
        )
    return text
