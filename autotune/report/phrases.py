"""Short texts that the console and the report share. ASCII only, one line each, safe to print anywhere."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from autotune import trust
from autotune.printable import printable
from autotune.record.view import StudyView
from autotune.trial import Candidate, Interval, Recipe, SpaceSummary


def one_line(text: str) -> str:
    """Text from elsewhere on one line, without control characters, runs of spaces made one."""
    return " ".join(printable(text).split())


def left_out(view: StudyView) -> list[str]:
    """What the search did not look at, and why: what was planned without it, then what its screening showed."""
    planned = view.space.space.left_out if view.space is not None else ()
    shown = [note.text for note in view.notes if note.topic in ("ruled_out", "unlikely")]
    return [*(f"{left.what}: {left.reason}" for left in planned), *shown]


def widths(candidate: Candidate) -> str:
    """`3008-1008`, or nothing for a model without widths."""
    return "-".join(map(str, candidate.widths))


def on_off(asked: bool | None) -> str:
    """`on`, `off`, or `default` for what is left to the framework."""
    return {None: "default", True: "on", False: "off"}[asked]


def further(candidate: Candidate) -> str:
    """`accumulation 4, tf32 off`: the settings that are searched only when asked for; nothing where none is set."""
    return ", ".join(f"{name} {value}" for name, value in candidate.further.items())


def searched_further(space: SpaceSummary) -> list[tuple[str, list[str]]]:
    """The choices of each dimension that is searched only when asked for, where there is more than one."""
    found = (
        ("accumulation", list(map(str, space.accumulation))),
        ("TF32", list(map(on_off, space.tf32))),
        ("pipeline", list(space.pipeline)),
    )
    return [(name, values) for name, values in found if len(values) > 1]


def speedup(interval: Interval) -> str:
    """`5.94x [5.81, 6.07]`."""
    return f"{interval.estimate:.2f}x [{interval.low:.2f}, {interval.high:.2f}]"


def level(interval: Interval) -> str:
    """`95 %`, the interval's two-sided confidence."""
    return f"{interval.level * 100:.4g} %"


def three_digits(value: float | None) -> str:
    """A positive quantity without its unit: `0.543`, `2.10`, `21.4`, `214`; `-` when unknown."""
    if value is None:
        return "-"
    if value < 0.1:
        return f"{value:.3g}"
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3}f}"


def share(value: float) -> str:
    """A share in per cent: `31 %`, and `0.06 %` below one."""
    return f"{value * 100:.{0 if value == 0 or value >= 0.01 else 2}f} %"


def between(values: Sequence[float], unit: str) -> str:
    """`1,695 to 1,740 MHz`, or `1,740 MHz` where all are alike as shown; at least one value."""
    low, high = (f"{end:,.0f}" for end in (min(values), max(values)))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def clock(seconds: float) -> str:
    """`3:41`, or `1:02:03` from an hour on."""
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def place(description: Mapping[str, Any]) -> str:
    """The name that a person knows a device or a profile by."""
    for key in ("title", "name"):
        if description.get(key):
            return one_line(str(description[key]))
    return "unknown device"


def differences(candidate: Candidate, baseline: Candidate) -> list[str]:
    """The settings that differ from the baseline's, as `batch 256 (was 32)`; all of a kind are left out."""
    pairs = (
        ("policy", candidate.policy, baseline.policy),
        ("batch", candidate.batch_size, baseline.batch_size),
        ("XLA", candidate.xla.value, baseline.xla.value),
        ("widths", widths(candidate), widths(baseline)),
        ("steps per execution", candidate.steps_per_execution, baseline.steps_per_execution),
        ("accumulation", candidate.accumulation, baseline.accumulation),
        ("TF32", on_off(candidate.tf32), on_off(baseline.tf32)),
        ("pipeline", candidate.pipeline.value, baseline.pipeline.value),
    )
    return [f"{name} {new} (was {old})" for name, new, old in pairs if new != old]


def at_recipe(recipe: Recipe | None) -> str:
    """`at 8,000 examples x 3 epochs`."""
    return f"at {recipe}" if recipe is not None else "at a recipe that is not known"


def train_command(folder: str, config: Mapping[str, Any]) -> str:
    """The command that trains with an exported configuration, with what must be trusted for it.

    Args:
        folder: the export's.
        config: what was exported, as plain values.
    """
    flags = trust.flags_for(trust.named_in(config))
    return f"python -m autotune --config-dir {shlex.quote(folder)} --config-name best {flags}".rstrip()


def model_name(view: StudyView) -> str:
    """The model's name, or that of the study."""
    if view.started is None:
        return "unknown model"
    return str(view.started.config.get("model", {}).get("name") or view.started.study)
