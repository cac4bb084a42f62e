"""Which columns the table of trials has, what is in them, and which of them fit a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autotune.record.view import StudyView, TrialView
from autotune.report import figures, phrases
from autotune.report.measure import UNKNOWN, Measure
from autotune.report.objective import Goal
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
    "further": Column("further", right=False),
    "step_time": Column("ms/step"),
    "rate": Column("examples/s"),
    "gain": Column("gain"),
    "speedup": Column("speedup"),
    "speedup_interval": Column("speedup", room=19),
    "predicted": Column("predicted"),
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
        "number state policy_short batch xla widths step_time rate speedup metric delta verdict",
        "number state policy_short batch xla widths step_time rate speedup metric delta",
        "number state policy_short batch xla step_time speedup metric delta",
        "number state policy_short batch speedup delta",
        "number state speedup delta",
    )
)

PREDICTED_FROM_COLUMNS = 100
"""A narrower terminal keeps its columns for what was measured."""

_SHORT = {"mixed_bfloat16": "mixed_bf16", "mixed_float16": "mixed_fp16", "float32 (TF32)": "f32 (TF32)"}


def cells_of(view: StudyView, measure: Measure, trial: TrialView) -> dict[str, str]:
    """The text of every column for one trial; a speed from screening is marked with `~`."""
    candidate, rate = trial.candidate, figures.examples_per_s(trial)
    ratio, gain = figures.speedup(trial), figures.gain(view, trial)
    kept = len(candidate.policy.float32_layers)
    policy = candidate.policy.name if kept else phrases.one_line(figures.policy(trial))
    more = f" +{kept} f32" if kept else ""  # their names are in the lines and in the report
    predicted = figures.predicted_speedup(view, candidate)
    mark = "" if figures.speed_stage(trial) is Stage.CONFIRM else "~"
    bounds, delta = figures.delta_interval(trial), measure.delta(figures.delta(trial))
    return {
        "number": str(trial.number),
        "state": figures.state(view, trial),
        "policy": policy + more,
        "policy_short": _SHORT.get(policy, policy) + more,
        "batch": str(candidate.batch_size),
        "xla": figures.xla(trial),
        "widths": phrases.widths(candidate) or UNKNOWN,
        "steps": str(candidate.steps_per_execution),
        "further": phrases.further(candidate),
        "step_time": phrases.three_digits(figures.step_time_ms(trial)),
        "rate": UNKNOWN if rate is None else f"{rate:,.0f}",
        "gain": UNKNOWN if gain is None else f"{mark}{gain.estimate:.2f}x",
        "speedup": UNKNOWN if ratio is None else f"{mark}{ratio.estimate:.2f}x",
        "speedup_interval": UNKNOWN if ratio is None else f"{mark}{phrases.speedup(ratio)}",
        "predicted": UNKNOWN if predicted is None else f"{predicted:.2f}x",
        "metric": measure.value(trial.latest_metric),
        "delta": delta,
        "delta_interval": measure.delta_interval(bounds) if bounds is not None else delta,
        "verdict": phrases.one_line(figures.verdict(view, trial)),
    }


def title_of(name: str, measure: Measure, goal: Goal) -> str:
    """The heading of a column."""
    if name == "gain":
        return goal.label
    return phrases.one_line(measure.name) if name == "metric" else COLUMNS[name].title


def fit(measure: Measure, goal: Goal, cells: Sequence[dict[str, str]], width: int) -> dict[str, int]:
    """The richest set of columns that fits, and the room of each; the poorest one if none does."""
    predicted = width >= PREDICTED_FROM_COLUMNS and any(row["predicted"] != UNKNOWN for row in cells)
    further = any(row["further"] for row in cells)
    for names in _layouts(goal, predicted, further):
        rooms = {name: _room(name, measure, goal, cells) for name in names}
        spare = width - sum(rooms.values()) - GAP * len(rooms)
        if spare >= 0:
            if "verdict" in rooms:
                longest = max((len(row["verdict"]) for row in cells), default=0)
                rooms["verdict"] += max(0, min(spare, longest - rooms["verdict"]))
            return rooms
    return rooms


def _layouts(goal: Goal, predicted: bool, further: bool) -> Iterator[tuple[str, ...]]:
    """From rich to poor, with the objective's gain before the speedup and what is predicted after it.

    Where the objective is throughput the gain is the speedup; elsewhere it takes the speedup's place last of all.
    """
    before = () if goal.is_throughput else ("gain",)
    after = ("predicted",) if predicted else ()
    for names in _LAYOUTS:
        if further and "xla" in names:
            last = names.index("steps" if "steps" in names else "widths" if "widths" in names else "xla")
            names = (*names[: last + 1], "further", *names[last + 1 :])
        at = next(i for i, name in enumerate(names) if name.startswith("speedup"))
        yield (*names[:at], *before, names[at], *after, *names[at + 1 :])
    if before:
        yield tuple("gain" if name == "speedup" else name for name in _LAYOUTS[-1])


def _room(name: str, measure: Measure, goal: Goal, cells: Sequence[dict[str, str]]) -> int:
    if name == "verdict":
        return COLUMNS[name].room
    return max(COLUMNS[name].room, len(title_of(name, measure, goal)), *(len(row[name]) for row in cells))
