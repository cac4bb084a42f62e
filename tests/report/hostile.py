"""A study in which every text that a person, a package or a device can choose is an attack."""

from __future__ import annotations

import enum
from dataclasses import fields, is_dataclass, replace
from typing import Any

from autotune.record.events import Event
from autotune.trial import Policy
from tests.sample_study import sample_events

EVIL = (
    "=HYPERLINK(1)</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    "\x1b]0;owned\x07\x1b[2J\x9b31m\r\n| [here](javascript:alert(3)) ![x](http://evil/x.png) `x`"
    " \u202e${oc.env:HOME} $x_{1}$ {0.__class__}"
)

_KEPT = ("objective", "direction", "kind", "method", "margin")
"""Keys and fields whose values are choices, checked elsewhere."""


def hostile_events(**options: Any) -> list[Event]:
    """The sample study with `EVIL` in place of all free text; numbers and choices are as they were."""
    return [_poisoned(event) for event in sample_events(**options)]


def _poisoned(value: Any) -> Any:
    if isinstance(value, enum.Enum | Policy):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        changed = {one.name: _poisoned(getattr(value, one.name)) for one in fields(value) if one.name not in _KEPT}
        return replace(value, **changed)
    if isinstance(value, dict):
        return {key: entry if key in _KEPT else _poisoned(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_poisoned, value))
    return EVIL if isinstance(value, str) else value
