"""The table of trials, as wide as the terminal lets it be."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table
from rich.text import Text

from autotune.console.columns import COLUMNS, GAP, cells_of, fit, title_of
from autotune.record.view import StudyView, TrialView
from autotune.report import figures, phrases, quoted
from autotune.report.measure import Measure
from autotune.report.objective import Goal

RUNNING = "running"

FAILURE_LINES = 3
"""Most lines that explain failures below the table."""


_STYLES = {
    "winner": "bold green",
    "confirmed": "green",
    "passed": "cyan",
    "baseline": "bold",
    "failed": "red",
    "rejected": "yellow",
    "unconfirmed": "yellow",
    "dominated": "dim",
    "slower": "dim",
    "skipped": "dim",
    RUNNING: "bold reverse",
}


class TrialTable:
    """A renderable: one row a trial, of which a short terminal shows the baseline, the current and the fastest.

    Args:
        view: the study.
        running: number of the trial that is running, or `None`.
        max_rows: most rows to show, or `None` for all.
    """

    def __init__(self, view: StudyView, running: int | None = None, max_rows: int | None = None) -> None:
        self._view = view
        self._running = running
        self._max_rows = max_rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        measure, goal = Measure.of(self._view), Goal.of(self._view)
        trials = self._rows()
        cells = [cells_of(self._view, measure, trial) for trial in trials]
        for trial, row in zip(trials, cells, strict=True):
            if trial.number == self._running:
                row["state"] = RUNNING
        rooms = fit(measure, goal, cells, options.max_width)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), show_edge=False)
        for name, room in rooms.items():
            justify: JustifyMethod = "right" if COLUMNS[name].right else "left"
            table.add_column(title_of(name, measure, goal), justify=justify, width=room, no_wrap=True, overflow="crop")
        for row in cells:
            table.add_row(*(Text(row[name], overflow="crop") for name in rooms), style=_STYLES.get(row["state"], ""))
        yield table
        yield Text(self._legend(len(trials), measure, "predicted" in rooms), style="dim")
        if self._view.comparisons and self._view.decided is None:
            text = quoted.comparison(self._view.comparisons[-1])
            yield Text(text, style="dim", no_wrap=True, overflow="crop")
        if "verdict" not in rooms:
            yield from self._failures(trials)

    def _rows(self) -> list[TrialView]:
        """In order of their numbers; the ones that matter most when there is not room for all."""
        trials = [trial for _, trial in sorted(self._view.trials.items())]
        if self._max_rows is None or len(trials) <= self._max_rows:
            return trials

        def rank(trial: TrialView) -> tuple[bool, bool, float]:
            gain = figures.gain(self._view, trial) or trial.gain
            must = trial.is_baseline or trial.number == self._running or figures.is_winner(self._view, trial)
            return not must, trial.confirmation is None, -(gain.estimate if gain is not None else 0.0)

        kept = sorted(trials, key=rank)[: max(1, self._max_rows)]
        return sorted(kept, key=lambda trial: trial.number)

    def _failures(self, trials: list[TrialView]) -> Iterator[Text]:
        """Why the failed ones failed, where no column says it."""
        failed = [trial for trial in trials if trial.failure is not None]
        for trial in failed[:FAILURE_LINES]:
            text = f"{trial.number} failed, {phrases.one_line(str(trial.failure))}"
            yield Text(text, style="red", no_wrap=True, overflow="crop")

    def _legend(self, shown: int, measure: Measure, predicted: bool) -> str:
        text = "~ from screening; without ~ confirmed."
        if predicted:
            text += " predicted: on the target, not measured."
        if measure.is_share:
            text += " delta in percentage points, paired seeds."
        hidden = len(self._view.trials) - shown
        return text + (f" {hidden} more trials not shown." if hidden else "")
