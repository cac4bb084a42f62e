"""Where the speedup comes from, in words: the changes from the baseline to the winner, and what each one gained."""

from __future__ import annotations

from autotune.explain.ablation import Decomposition, Factor
from autotune.report import phrases

SCREENED = "screening figures, which rank; only the confirmed speedup is a claim"

_NOTHING_LEFT = 0.005
"""Of a factor; a rest nearer to 1 is rounding."""


def in_short(found: Decomposition) -> str:
    """`batch 32 -> 128 2.49x, XLA 1.03x (screening)`."""
    parts = [f"{phrases.one_line(step.change)} {step.ratio:.2f}x" for step in found.steps]
    if (rest := rest_of(found)) is not None:
        parts.append(f"not accounted for {rest:.2f}x")
    return f"{', '.join(parts)} (screening)"


def factor(step: Factor) -> str:
    """`2.49x [2.40, 2.56]`, or without an interval where there is none."""
    if step.low is None or step.high is None:
        return f"{step.ratio:.2f}x"
    return f"{step.ratio:.2f}x [{step.low:.2f}, {step.high:.2f}]"


def rest_of(found: Decomposition) -> float | None:
    """What the factors do not account for, as a factor; None where that is nothing but rounding, or not known."""
    if found.rest is None or abs(found.rest - 1) < _NOTHING_LEFT:
        return None
    return found.rest


def trial_of(found: Decomposition) -> int:
    """The trial whose speedup it is; there is a step at least."""
    return found.steps[-1].trial


def lines(found: Decomposition) -> list[str]:
    """One line a step, then what they make together and what none of them shows."""
    told = [
        f"{phrases.one_line(step.change)}: {factor(step)} (trial {step.trial} over trial {step.against})"
        for step in found.steps
    ]
    if found.whole is not None:
        told.append(f"together: {phrases.speedup(found.whole)}, trial {trial_of(found)} over the baseline; {SCREENED}")
    if (rest := rest_of(found)) is not None:
        told.append(f"not accounted for by these: {rest:.2f}x")
    return [*told, *(f"not told apart: {phrases.one_line(text)}" for text in found.missing)]
