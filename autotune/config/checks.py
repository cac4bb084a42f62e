"""Checks that every configuration dataclass shares: each raises one line that names the key and the remedy."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from typing import Any

from autotune.errors import ConfigError

MISSING = "???"

# The whole is matched first: to search a long text for parts takes time with the square of its length.
_PART = re.compile(r"(\d+(?:\.\d+)?)([smh])", re.ASCII)
_PARTS = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0}


def require(condition: bool, rule: str, value: Any, remedy: str = "") -> None:
    """Raise `ConfigError` with "rule, but got value; remedy" unless the condition holds."""
    if not condition:
        raise ConfigError(f"{rule}, but got {value!r}" + (f"; {remedy}" if remedy else ""))


def positive(key: str, value: float | int | None, remedy: str = "") -> None:
    """A number above zero, or None where the key may be left open."""
    if value is not None:
        require(math.isfinite(value) and value > 0, f"{key} must be a number above zero", value, remedy)


def at_most(key: str, value: float, most: float) -> None:
    """A number not above a limit."""
    require(value <= most, f"{key} must be at most {most:,}", value)


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice closest to what was typed, or None when nothing is close."""
    close = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return close[0] if close else None


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing."""
    close = nearest(word, choices)
    return f" Did you mean '{close}'?" if close else ""


def duration_s(key: str, text: str | float | int) -> float:
    """Seconds of `90`, `90s`, `5m`, `2h` or `1h30m`.

    Raises:
        ConfigError: not a duration, or not above zero.
    """
    remedy = "write seconds, or a number with s, m or h, such as 90s, 5m or 2h"
    written = str(text).strip().lower()
    if _PARTS.fullmatch(written):
        parts = _PART.findall(written)
        seconds = sum(float(number) * _UNITS_S[unit] for number, unit in parts)
    else:
        try:
            seconds = float(written)
        except ValueError:
            raise ConfigError(f"{key} must be a duration, but got {text!r}; {remedy}") from None
    require(math.isfinite(seconds) and seconds > 0, f"{key} must be a duration above zero", text, remedy)
    return seconds
