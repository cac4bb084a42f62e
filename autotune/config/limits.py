"""What no value may be: too large for any run, or no name.

The schema's classes say what a value means and how small it may be. Here stands the other end, for all groups at once:
a slip of the keyboard or a hostile file must not become a study that takes years, or that ends where TensorFlow, a
system call or the record meets a number that it cannot hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from autotune.config.checks import at_most, require
from autotune.config.schema import Config

# TensorFlow's shapes, NumPy's seeds and SQLite's integers all hold it.
_LARGEST_INTEGER = 2**31 - 1

_DAY_S = 86_400.0

LONGEST_S = 366 * _DAY_S
"""The longest budget or time limit [s]; system calls refuse a longer wait from some 292 years on."""

MOST: Mapping[str, float] = {
    "search.trials": 100_000,
    "search.gate_seeds": 200,
    "search.finalists": 100,  # they share the verdict's error level
    "search.trial_timeout_s": LONGEST_S,
    "search.timing.block_s": 60.0,
    "search.timing.min_pairs": 200,
    "search.timing.max_pairs": 200,  # the exact interval takes 0.1 s for 200, 18 s for 1,000, for each number anew
    "search.timing.half_width": 1.0,  # relative
    "search.timing.screen_half_width": 1.0,
    "search.timing.max_s": _DAY_S,
    "search.timing.screen_max_s": _DAY_S,
    "search.timing.processes": 100,
    "search.timing.rounds": 100,
    "search.max_growth": 100.0,
    "constraint.seeds": 200,  # what a verdict plans for at most, see `autotune.decide.accuracy`
    "objective.threshold": 100.0,
    "objective.tie": 100.0,
    "train.learning_rate": 1_000.0,
    "train.step_factor": 1_000.0,
    "train.epochs": 100_000,
    "data.download_timeout_s": _DAY_S,
}
"""The most that a number may be, in the key's own unit."""

_SMALLEST_FLOAT32 = 2.0**-126  # the smallest normal one: as float32, less becomes zero

_AT_LEAST: Mapping[str, float] = {"train.learning_rate": _SMALLEST_FLOAT32, "train.step_factor": _SMALLEST_FLOAT32}

# A person's own keyword arguments: what they mean is theirs to say.
_ARGUMENTS = re.compile(r"[._]args\.")

_MOST_ENTRIES = 64  # of a dimension of the space: all combinations are enumerated

_LISTS = (
    "search.policies",
    "search.batch_sizes",
    "search.xla",
    "search.steps_per_execution",
    "search.accumulation",
    "model.widths",
)

# They become names of folders, runs and experiments, and words of one line on a terminal.
_NAMES = (
    "model.name",
    "data.name",
    "hw.name",
    "hw.title",
    "constraint.metric",
    "tracking.uri",
    "tracking.experiment",
    "tracking.registered_model",
    "output.name",
)
_LONGEST_NAME = 200
_LONGEST = {"tracking.uri": 2_000}  # it may hold a token, or the whole of an ODBC connection


def check(config: Config) -> None:
    """Refuse a value that no run can use.

    Raises:
        ConfigError: naming the key, and the limit.
    """
    if config.search.budget_s is not None:
        require(
            config.search.budget_s <= LONGEST_S,
            f"search.budget must be at most {LONGEST_S:,.0f} s, a year",
            config.search.budget,
            "null is no limit",
        )
    for key, value in _values(config):
        match value:
            case bool():
                pass
            case int() | float():
                _check_number(key, value)
            case str() if key in _NAMES:
                _check_name(key, value)
            case list() if key in _LISTS:
                at_most(f"the number of entries of {key}", len(value), _MOST_ENTRIES)


def _check_number(key: str, value: float) -> None:
    require(math.isfinite(value), f"{key} must be a finite number", value)
    if _ARGUMENTS.search(key):
        return
    whole = isinstance(value, int)
    at_most(key, value, MOST.get(key, _LARGEST_INTEGER if whole else math.inf))
    require(not whole or value >= -_LARGEST_INTEGER, f"{key} must be at least {-_LARGEST_INTEGER:,}", value)
    if key in _AT_LEAST:
        require(value >= _AT_LEAST[key], f"{key} must not be so small that float32 rounds it to zero", value)


def _check_name(key: str, name: str) -> None:
    require(bool(name.strip()), f"{key} must not be empty", name, "leave it out, or null, for the default")
    require(len(name.splitlines()) == 1, f"{key} must be one line", name)
    longest = _LONGEST.get(key, _LONGEST_NAME)
    require(len(name) <= longest, f"{key} must have at most {longest:,} characters", name)


def _values(node: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted key, a list before its entries."""
    if is_dataclass(node):
        for field in fields(node):
            yield from _values(getattr(node, field.name), f"{key}.{field.name}".lstrip("."))
        return
    yield key, node
    if isinstance(node, list):
        for entry in node:
            yield from _values(entry, key)
    elif isinstance(node, dict):
        for name, entry in node.items():
            yield from _values(entry, f"{key}.{name}")
