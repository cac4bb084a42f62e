"""One line for an override that Hydra's grammar cannot read."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autotune.errors import ConfigError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

FLAGS = ("--help", "--version", "--multirun", "--cfg", "--info", "--config-dir", "--config-name")
_MOST_JOBS = 1_000
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?")
_PAIRS = (("[", "]"), ("{", "}"), ("(", ")"))


def check_choice(group: str, override: str) -> None:
    """Refuse what Hydra takes for a group's choice, though it is none: a list of them, a reference, null, a number.

    Raises:
        ConfigError: naming the group.
    """
    value = override.partition("=")[2].strip()
    if value.startswith("["):
        raise ConfigError(f"{group} takes one choice, but got {value}; run several with -m {group}={value.strip('[]')}")
    if "${" in value:
        raise ConfigError(f"{group} must be the name of a choice, but got the reference {value}; write the name itself")
    if value in ("", "null") or _NUMBER.fullmatch(value):
        raise ConfigError(f"{group} must be the name of a choice, but got {value or 'nothing'}; --help lists them")


def check_jobs(overrides: Sequence[str]) -> None:
    """Refuse more jobs than anybody would wait for: Hydra composes each before the first of them runs.

    Raises:
        ConfigError: with their number.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        jobs = math.prod(map(_values, OverridesParser.create().parse_overrides(list(overrides))))
    except (HydraException, ValueError):
        return  # it cannot be read, which is told as such when Hydra reads it
    if jobs > _MOST_JOBS:
        raise ConfigError(f"one command line makes at most {_MOST_JOBS:,} jobs, but got {jobs:,}; give fewer values")


def _values(override: Override) -> float:
    """How many values an override stands for; of a pattern such as `glob(*)` that is not known, but not many."""
    from hydra.core.override_parser.types import ChoiceSweep, RangeSweep

    match override.value() if override.is_sweep_override() else None:
        case ChoiceSweep(list=choices):
            return len(choices)
        case RangeSweep(start=start, stop=stop, step=step) if start is not None and stop is not None:
            # The length of a `range` must fit into 64 bits, and Hydra's own range of fractions has none.
            return max(0, math.ceil((stop - start) / step)) if step else math.inf
    return 1


def describe_override(override: str, message: str) -> str:
    """Why `override` cannot be read, and how to write it.

    Args:
        override: the argument as typed.
        message: Hydra's explanation, for what is not recognised here.
    """
    key, equals, value = override.partition("=")
    if not equals and f"--{override}" in FLAGS:
        return f"'{override}' is a flag; write --{override}"
    if not equals and not override.startswith("~"):
        return f"'{override}' has no value; write {override or 'key'}=..., without spaces around the ="
    if not key.strip("+~ "):
        return f"'{override}' has no key in front of the =; write key=value, without spaces around the ="
    for opening, closing in _PAIRS:
        if value.count(opening) != value.count(closing):
            return f"'{override}' has an unbalanced {opening} or {closing}"
    for quote in ("'", '"'):
        if value.replace("\\" + quote, "").count(quote) % 2:
            return f"'{override}' has an unbalanced {quote}"
    if message.startswith("LexerNoViableAlt") or "mismatched" in message or "extraneous" in message:
        return f"'{override}' cannot be read; quote a value with special characters: '{key}=\"...\"'"
    reason = message.partition("\nSee http")[0].removeprefix(f"Error parsing override '{override}'")
    return f"'{override}' cannot be read: {reason}"
