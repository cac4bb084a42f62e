"""Which columns the table of trials has, what is in them, and which of them fit a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.record.view import StudyView, TrialView
from autotune.report import figures, phrases
from autotune.report.measure import UNKNOWN, Measure
from autotune.trial import Stage

GAP = 2
"""Between two columns: one of padding, and the box's own divider."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `room` is reserved from the start, so that the table does not jump when figures arrive."""

    title: str
    right: bool = True
    room: int = 0


COLUMNS = {
    "number": Column("#"),
    "state": Column("state", right=False, room=11),
    "policy": Column("policy", right=False, room=14),
    "policy_short": Column("policy", right=False, room=10),
    "batch": Column("batch"),
    "xla": Column("XLA", right=False, room=4),
    "widths": Column("widths", right=False),
    "steps": Column("steps/call"),
    "step_time": Column("ms/step"),
    "rate": Column("examples/s"),
    "speedup": Column("speedup"),
    "speedup_interval": Column("speedup", room=19),
    "metric": Column("metric", room=8),
    "delta": Column("delta", room=8),
    "delta_interval": Column("delta", room=23),
    "verdict": Column("verdict", right=False, room=20),
}

# From rich to poor. Only a verdict's words may be cut: a figure that lost a digit is another figure.
_LAYOUTS = tuple(
    tuple(names.split())
    for names in (
        "number state policy batch xla widths steps step_time rate speedup_interval metric delta_interval verdict",
        "number state policy_short batch xla widths steps step_time rate speedup_interval metric delta verdict",
        "number state policy_short batch xla widths steps step_time rate speedup metric delta verdict",
        "number state policy_short batch xla widths step_time rate speedup metric delta",
        "number state policy_short batch xla step_time speedup metric delta",
        "number state policy_short batch speedup delta",
        "number state speedup delta",
    )
)

_SHORT = {"mixed_bfloat16": "mixed_bf16", "mixed_float16": "mixed_fp16"}


def cells_of(view: StudyView, measure: Measure, trial: TrialView) -> dict[str, str]:
    """The text of every column for one trial; a speed from screening is marked with `~`."""
    candidate, rate = trial.candidate, figures.examples_per_s(trial)
    policy, ratio = phrases.one_line(candidate.policy.name), figures.speedup(trial)
    mark = "" if figures.speed_stage(trial) is Stage.CONFIRM else "~"
    bounds, delta = figures.delta_interval(trial), measure.delta(figures.delta(trial))
    return {
        "number": str(trial.number),
        "state": figures.state(view, trial),
        "policy": policy,
        "policy_short": _SHORT.get(policy, policy),
        "batch": str(candidate.batch_size),
        "xla": figures.xla(trial),
        "widths": phrases.widths(candidate) or UNKNOWN,
        "steps": str(candidate.steps_per_execution),
        "step_time": phrases.milliseconds(figures.step_time_ms(trial)),
        "rate": UNKNOWN if rate is None else f"{rate:,.0f}",
        "speedup": UNKNOWN if ratio is None else f"{mark}{ratio.estimate:.2f}x",
        "speedup_interval": UNKNOWN if ratio is None else f"{mark}{phrases.speedup(ratio)}",
        "metric": measure.value(trial.latest_metric),
        "delta": delta,
        "delta_interval": measure.delta_interval(bounds) if bounds is not None else delta,
        "verdict": phrases.one_line(figures.verdict(trial)),
    }


def title_of(name: str, measure: Measure) -> str:
    """The heading of a column."""
    return phrases.one_line(measure.name) if name == "metric" else COLUMNS[name].title


def fit(measure: Measure, cells: Sequence[dict[str, str]], width: int) -> dict[str, int]:
    """The richest set of columns that fits, and the room of each; the poorest one if none does."""
    for names in _LAYOUTS:
        rooms = {name: _room(name, measure, cells) for name in names}
        spare = width - sum(rooms.values()) - GAP * len(rooms)
        if spare >= 0:
            if "verdict" in rooms:
                longest = max((len(row["verdict"]) for row in cells), default=0)
                rooms["verdict"] += max(0, min(spare, longest - rooms["verdict"]))
            return rooms
    return rooms


def _room(name: str, measure: Measure, cells: Sequence[dict[str, str]]) -> int:
    if name == "verdict":
        return COLUMNS[name].room
    return max(COLUMNS[name].room, len(title_of(name, measure)), *(len(row[name]) for row in cells))
