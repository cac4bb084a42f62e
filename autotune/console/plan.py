"""What `task=plan` shows: the space, what it costs and the margin that the budget can resolve."""

from __future__ import annotations

import sys
from typing import IO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autotune.console.progress import budget_of
from autotune.console.terminal import SafeStream, open_console
from autotune.record.view import StudyView
from autotune.report import phrases
from autotune.report.answer import warnings
from autotune.report.measure import Measure


def print_plan(view: StudyView, stream: IO[str] | None = None) -> None:
    """Print the plan to a stream, standard output by default."""
    stream = stream or sys.stdout
    console = open_console(stream)
    if console.is_terminal:
        console.print(plan_text(view))
        return
    with console.capture() as captured:
        console.print(plan_text(view))
    # Padding to the width of a column is of no use in a file.
    SafeStream(stream).writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def plan_text(view: StudyView) -> RenderableType:
    """The plan, from the space, the planned fidelity and the baseline's probe, as far as they are known."""
    parts: list[RenderableType] = []
    if view.started is not None:
        where = phrases.place(view.started.device)
        if not view.started.on_target:
            where += f" (OFF TARGET: {phrases.place(view.started.target)} was asked for)"
        parts.append(Text(f"Plan for {phrases.one_line(phrases.model_name(view))} on {where}", style="bold"))
    parts += [Text(f"! {text}", style="bold red") for text in warnings(view)]
    for title, rows in (
        ("Baseline", _baseline(view)),
        ("Space", _space(view)),
        ("Left out", _left_out(view)),
        ("Time", _cost(view)),
        ("Accuracy", _resolution(view)),
    ):
        if rows:
            parts += [Text(), Text(title, style="bold"), _grid(rows)]
    return Group(*parts)


def _grid(rows: list[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(max_width=34, overflow="fold")
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(Text(f"  {phrases.one_line(label)}"), Text(phrases.one_line(text)))
    return grid


def _baseline(view: StudyView) -> list[tuple[str, str]]:
    rows = [("settings", str(view.space.baseline))] if view.space is not None else []
    probe = view.baseline.probe if view.baseline is not None else None
    if probe is not None:
        step = phrases.three_digits(probe.step_time_ms)
        rows.append(("measured", f"{step} ms/step, {probe.examples_per_s:,.0f} examples/s"))
    return rows


def _space(view: StudyView) -> list[tuple[str, str]]:
    if view.space is None:
        return []
    space = view.space.space
    return [
        ("policy", ", ".join(space.policies)),
        ("batch size [examples]", ", ".join(map(str, space.batch_sizes))),
        ("XLA", ", ".join(space.xla)),
        ("steps per execution", ", ".join(map(str, space.steps_per_execution))),
        ("widths", ", ".join("-".join(map(str, widths)) or "none" for widths in space.widths)),
        *((name, ", ".join(values)) for name, values in phrases.searched_further(space)),
        ("candidates", f"{space.size:,}{_trials(view)}"),
    ]


def _trials(view: StudyView) -> str:
    trials = view.started.config.get("search", {}).get("trials") if view.started is not None else None
    return f", of which at most {trials} are measured" if trials is not None else ""


def _left_out(view: StudyView) -> list[tuple[str, str]]:
    return [(left.what, left.reason) for left in view.space.space.left_out] if view.space is not None else []


def _cost(view: StudyView) -> list[tuple[str, str]]:
    plan = view.fidelity
    if plan is None:
        return []
    rows = [(stage, f"{share_s:.0f} s") for stage, share_s in plan.shares_s.items()]
    budget_s, total_s = budget_of(view), sum(plan.shares_s.values())
    limit = f"of a budget of {budget_s:.0f} s" if budget_s is not None else "no budget is set"
    return [*rows, ("all", f"{total_s:.0f} s, {limit}")]


def _resolution(view: StudyView) -> list[tuple[str, str]]:
    plan, measure = view.fidelity, Measure.of(view)
    if plan is None:
        return []
    rows = [("recipe", f"{plan.recipe}, about {plan.baseline_train_s:.1f} s per baseline training")]
    rows += [("why", reason) for reason in plan.reasons]
    rows.append(("margin asked for", measure.allowance()))
    for spread, margin in plan.resolvable_margin.items():
        comment = ""
        if measure.margin is not None:  # a relative one has no size before the baseline was trained
            enough = margin <= measure.margin
            comment = " (enough)" if enough else " (not enough: verdicts would be INCONCLUSIVE)"
        rows.append((f"resolvable, spread {spread}", f"{measure.size(margin)}{comment}"))
    return rows
