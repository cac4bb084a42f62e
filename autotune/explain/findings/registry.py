"""The kinds of finding, each a function from a situation to what it found, with evidence from this very model."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps

from autotune.explain.situation import Situation


class Severity(enum.StrEnum):
    """How much it matters: wrong results or none; speed or accuracy lost; worth knowing."""

    PROBLEM = "problem"
    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
        kind: its name in `KINDS`.
        layer: where; empty for the model as a whole.
        why: the evidence: what was seen or measured in this model.
        fix: an override of the configuration, or a line of code.
    """

    kind: str
    severity: Severity
    layer: str
    why: str
    fix: str


Found = tuple[Severity, str, str, str]
"""Severity, layer, why, fix."""

KINDS: dict[str, Callable[[Situation], Iterable[Finding]]] = {}


def kind(name: str) -> Callable[[Callable[[Situation], Iterator[Found]]], Callable[[Situation], Iterable[Finding]]]:
    """Register what a function finds under a name."""

    def register(function: Callable[[Situation], Iterator[Found]]) -> Callable[[Situation], Iterable[Finding]]:
        @wraps(function)
        def found(situation: Situation) -> list[Finding]:
            return [Finding(name, *each) for each in function(situation)]

        if name in KINDS:
            raise ValueError(f"two kinds of finding are named {name!r}")
        KINDS[name] = found
        return found

    return register


def findings(situation: Situation) -> tuple[Finding, ...]:
    """All of them, problems first; of one severity in the order of `KINDS`."""
    every = [one for look in KINDS.values() for one in look(situation)]
    return tuple(sorted(every, key=lambda one: list(Severity).index(one.severity)))


def named(names: list[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
