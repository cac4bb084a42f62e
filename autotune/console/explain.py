"""What `task=explain` shows: the answer, the findings, what would gain, and the layers that take most of a step."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autotune.console.terminal import SafeStream, open_console
from autotune.explain.explanation import Explanation, LayerRow
from autotune.explain.findings import Finding, Severity
from autotune.report.explained import MARKDOWN
from autotune.report.phrases import one_line, three_digits

_MOST_LAYERS = 14
_STYLES = {Severity.PROBLEM: "bold red", Severity.WARNING: "yellow", Severity.HINT: "dim"}


def print_explanation(explanation: Explanation, folder: Path, stream: IO[str] | None = None) -> None:
    """Print it to a stream, standard output by default."""
    stream = stream or sys.stdout
    console = open_console(stream)
    content = explanation_text(explanation, folder)
    if console.is_terminal:
        console.print(content)
        return
    with console.capture() as captured:
        console.print(content)
    SafeStream(stream).writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())
    stream.flush()


def explanation_text(e: Explanation, folder: Path) -> RenderableType:
    """All that is shown, the answer first."""
    parts: list[RenderableType] = [
        Text(
            f"{one_line(e.model)} on {one_line(e.target)} (PREDICTED: nothing was trained, nothing timed)", style="bold"
        ),
        Text(one_line(e.answer)),
        *_section("Findings", [_finding(one) for one in e.findings] or [Text("  none")]),
    ]
    if e.advice:
        parts += _section("What would gain, against your own settings in float32", [_advice(e)])
    parts += _section(f"Layers at batch {e.batch_size}{_columns(e)}", [_layers(e)])
    parts += _section("How", [_grid([(f"  {one_line(text)}",) for text in _how(e)])])
    parts.append(Text(f"  all layers, sizes, steps and numbers: {folder / MARKDOWN}"))
    return Group(*parts)


def _section(title: str, content: list[RenderableType]) -> list[RenderableType]:
    return [Text(), Text(title, style="bold"), *content]


def _finding(one: Finding) -> RenderableType:
    head = f"  {one.severity.value.upper():8} {one.kind}" + (f" in {one_line(one.layer)}" if one.layer else "")
    body = _grid([("           why", one_line(one.why)), ("           fix", one_line(one.fix))])
    return Group(Text(head, style=_STYLES[one.severity]), body)


def _advice(e: Explanation) -> Table:
    return _grid([(f"  {one_line(a.change)}", str(a.gain), a.override) for a in e.advice])


def _columns(e: Explanation) -> str:
    return f" (float32 / {e.policy}, at full rates)" if e.policy else " (float32, at full rates)"


def _layers(e: Explanation) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for name, justify in (
        ("  layer", "left"),
        ("output", "left"),
        ("parameters", "right"),
        ("MFLOP", "right"),
        ("FLOP/byte", "right"),
        ("bound by", "left"),
        ("ms", "right"),
    ):
        table.add_column(name, justify=justify, no_wrap=name == "ms")  # type: ignore[arg-type]
    rows = sorted(e.rows, key=_weight, reverse=True)
    shown = {id(row) for row in rows[:_MOST_LAYERS]}
    for row in e.rows:
        if id(row) in shown:
            table.add_row(*map(Text, _cells(row)))
    if len(rows) > _MOST_LAYERS:
        table.add_row(Text(f"  and {len(rows) - _MOST_LAYERS} that take less"))
    return table


def _weight(row: LayerRow) -> float:
    return row.float32.time_ms if row.float32.time_ms is not None else float(row.float32.moved_bytes)


def _cells(row: LayerRow) -> tuple[str, ...]:
    costs = [cost for cost in (row.float32, row.reduced) if cost is not None]
    bounds = list(dict.fromkeys(cost.bound for cost in costs))
    times = [three_digits(cost.time_ms) for cost in costs]
    return (
        f"  {one_line(row.anatomy.name)}",
        "x".join(map(str, row.anatomy.output)),
        f"{row.anatomy.parameters:,}",
        three_digits(row.float32.flops / 1e6) if row.float32.flops else "-",
        " / ".join(three_digits(cost.intensity) for cost in costs) if row.float32.flops else "-",
        " / ".join(bounds),
        " / ".join(times),
    )


def _how(e: Explanation) -> list[str]:
    said = list(e.assumptions)
    said += [f"{what} could not be had: {reason}" for what, reason in e.failures.items()]
    said += [f"not predicted: {reason}" for reason in e.left_out]
    return said


def _grid(rows: list[tuple[str, ...]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in rows[0]:
        grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid
