"""The live table: redrawn once a second on a terminal."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autotune.console.panel import answer_panel
from autotune.console.progress import ORDER, Progress
from autotune.console.trials import FAILURE_LINES, TrialTable
from autotune.record.events import Event, SinkFailed, TrialStarted
from autotune.record.view import StudyView
from autotune.report import phrases
from autotune.report.answer import warnings

# The parent must not disturb what its child measures on the same cores: one frame takes some milliseconds.
_FRAMES_PER_S = 1.0
# What runs, its bar and a blank line; the table's head; its legend, of two lines at most, and why trials failed.
_LINES_AROUND_ROWS = 3 + 2 + 2 + FAILURE_LINES
_FEWEST_ROWS = 3


class LiveSink:
    """A sink that shows the study as it is now, and the answer when it is closed.

    Args:
        console: where to draw.
        tracking_hint: how to see the trials in the tracker, for the last panel.
        clock: monotonic [s].
    """

    name = "console"

    def __init__(self, console: Console, tracking_hint: str, clock: Callable[[], float]) -> None:
        self._console = console
        self._hint = tracking_hint
        self._clock = clock
        self._view = StudyView()
        self._progress = Progress()
        self._failed_sinks: list[str] = []
        self._closing = False
        # Frames are drawn on a thread of the display's own, while events arrive on another.
        self._lock = threading.Lock()
        self._live = Live(self, console=console, refresh_per_second=_FRAMES_PER_S)

    def on_event(self, event: Event) -> None:
        """Take one event; the next frame shows it."""
        with self._lock:
            self._view.apply(event)
            stage = self._view.stage.stage if self._view.stage is not None else None
            self._progress.on_event(event, stage, self._clock())
            if isinstance(event, SinkFailed):
                self._failed_sinks.append(f"{event.sink} did not take everything: {phrases.one_line(event.message)}")
        if not self._live.is_started:
            self._live.start()

    def on_replayed(self, event: Event, at_s: float) -> None:  # noqa: ARG002 (the sinks' protocol)
        """Know the event; the first new one opens the display."""
        with self._lock:
            self._view.apply(event)

    def close(self) -> None:
        """Leave the whole table on the screen, and the answer below it."""
        with self._lock:
            self._closing = True
        if self._live.is_started:
            self._live.stop()
        if self._view.decided is not None:
            self._console.print(answer_panel(self._view, self._hint, self._failed_sinks), crop=False)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            frame = list(self._frame(console))
            # Rendered here, under the lock: the table reads the view.
            segments = [segment for part in frame for segment in console.render(part, options)]
        yield from segments

    def _frame(self, console: Console) -> list[RenderableType]:
        view = self._view
        loud = [*warnings(view), *self._failed_sinks]
        parts: list[RenderableType] = [Text(_title(view), style="bold", overflow="fold")]
        parts += [Text(f"! {text}", style="bold red", overflow="fold") for text in loud]
        rows, running = None, None
        if not self._closing:
            parts += [self._now(), self._bar(), Text()]
            running = current.trial if (current := _current(view)) is not None else None
            above = sum(1 + len(text) // console.width for text in (_title(view), *loud))
            compared = 1 if view.comparisons else 0
            rows = max(_FEWEST_ROWS, console.height - above - compared - _LINES_AROUND_ROWS)
        if view.trials:
            parts.append(TrialTable(view, running, rows))
        return parts

    def _now(self) -> Text:
        view, text = self._view, Text(overflow="crop", no_wrap=True)
        for stage in ORDER:
            on = view.stage is not None and view.stage.stage is stage
            text.append(f"[{stage.value}]" if on else f" {stage.value} ", style="bold cyan" if on else "dim")
        if (current := _current(view)) is not None:
            seed = f", seed {current.seed}" if current.seed is not None else ""
            text.append(f"  trial {current.trial}{seed}")
        elif view.worker is None:
            text.append("  starting the worker: importing the framework")
        return text

    def _bar(self) -> Table:
        view, now_s = self._view, self._clock()
        planned = view.stage.planned if view.stage is not None else 0
        done = min(self._progress.done, planned)
        left_s = self._progress.left_s(view, now_s)
        text = f"{done} of {planned}, {phrases.clock(self._progress.elapsed_s(now_s))} elapsed"
        text += f", about {phrases.clock(left_s)} left" if left_s is not None else ""
        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_row(ProgressBar(total=max(1, planned), completed=done, width=20), Text(text))
        return row


def _current(view: StudyView) -> TrialStarted | None:
    """The trial that is running, if any."""
    current = view.current
    if current is None or view.stage is None or view.decided is not None:
        return None
    return current if current.stage is view.stage.stage else None


def _title(view: StudyView) -> str:
    if view.started is None:
        return "starting"
    device, target = phrases.place(view.started.device), phrases.place(view.started.target)
    where = device if view.started.on_target else f"{device}, OFF TARGET (asked for: {target})"
    recipe = f", {view.fidelity.recipe}" if view.fidelity is not None else ""
    return f"{phrases.one_line(phrases.model_name(view))} on {where}{recipe}"
