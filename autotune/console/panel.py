"""The last panel: the answer, between two rules, without side borders so that commands and paths can be copied."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from autotune.record.view import StudyView
from autotune.report.answer import Answer, answer


class _Line:
    """A line across the terminal. Rich's own rule without a title prints a character that ASCII lacks."""

    def __init__(self, style: str) -> None:
        self._style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(("-" if options.ascii_only else "\u2500") * options.max_width, style=self._style)


def to_copy(result: Answer, tracking_hint: str) -> list[tuple[str, str]]:
    """Label and text of what a person copies; never wrapped, since a broken command is no command."""
    commands = [("train with it", result.command or ""), ("see all trials", tracking_hint)]
    return [(label, text) for label, text in commands if text]


def answer_panel(view: StudyView, tracking_hint: str = "", more_warnings: Sequence[str] = ()) -> RenderableType:
    """What to use, how much faster, what it costs, on which device, and where the files are.

    Print it with `crop=False`: the commands are one line each, however long.
    """
    result = answer(view)
    style = "bold green" if result.found else "bold yellow"
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for label, text in (*result.rows, ("exit status", result.exit_meaning)):
        grid.add_row(Text(label), Text(text))
    parts: list[RenderableType] = [_Line(style), Text(result.headline, style=style)]
    parts += [Text(f"! {warning}", style="bold red") for warning in (*result.warnings, *more_warnings)]
    parts += [Text(), grid, Text()]
    for label, text in to_copy(result, tracking_hint):
        parts += [Text(label, style="bold"), Text(f"  {text}", no_wrap=True, overflow="ignore")]
    return Group(*parts, _Line(style))
