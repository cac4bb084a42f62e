"""What goes best together: throughput as a product of what each setting gains by itself.

A batch, XLA and more steps a call each speed a step up by a factor that depends little on the others. So a few trials
tell which combination is likely the fastest, long before a sampler that knows nothing of factors has come upon it. What
does depend on another setting has a term of its own: more steps a call gain less at a large batch, and XLA does
something else to 16 bit than to float32.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from autotune.trial import Candidate, Xla

FEWEST = 4
"""Fewer measured candidates tell nothing of factors."""

MOST = 60
"""With more measured candidates a sampler knows as much, and the model would only cost time."""

_PROMISING = 0.97
"""What is predicted to come to this share of the fastest so far is worth a trial."""

# Ridge penalties on the terms, in units of one observation's squared residual: a factor is 1 until something is seen
# of it, and one of two settings together all the more.
_PENALTY, _PENALTY_TOGETHER = 0.05, 0.5


def likeliest(speedups: Mapping[Candidate, float], candidates: Collection[Candidate], least: float) -> Candidate | None:
    """The candidate that is predicted to be the fastest, if it may come to `least`.

    Args:
        speedups: of the measured candidates, over the baseline's throughput; above 0.
        candidates: to choose from; of equals the first.
        least: the speedup of the fastest so far that it competes with.

    Returns:
        None where too little or too much was measured, or nothing promising is left.
    """
    if not FEWEST <= len(speedups) <= MOST or not candidates or least <= 0:
        return None
    terms = _Terms([*speedups, *candidates])
    measured = np.log(list(speedups.values()))
    centre = measured.mean()
    rows = terms.of(speedups)
    weights = np.linalg.solve(rows.T @ rows + np.diag(terms.penalties), rows.T @ (measured - centre))
    predicted = centre + terms.of(candidates) @ weights
    best = int(np.argmax(predicted))
    return list(candidates)[best] if predicted[best] >= math.log(least * _PROMISING) else None


class _Terms:
    """The terms of the model: a column for each choice of a setting, one for each size, and two of pairs.

    Args:
        candidates: whose choices there are.
    """

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._choices = list(dict.fromkeys(choice for one in candidates for choice in _choices(one)))
        self.penalties = np.array([_PENALTY] * (len(self._choices) + 3) + [_PENALTY_TOGETHER] * 2)

    def of(self, candidates: Iterable[Candidate]) -> np.ndarray:
        """One row a candidate."""
        return np.array([self._row(one) for one in candidates])

    def _row(self, one: Candidate) -> list[float]:
        own = set(_choices(one))
        batch, steps = math.log2(one.batch_size), math.log2(one.steps_per_execution)
        reduced = not one.policy.is_float32 and one.xla is Xla.ON
        sizes = [batch, steps, math.log2(one.accumulation)]
        return [*(float(choice in own) for choice in self._choices), *sizes, batch * steps / 8, float(reduced)]


def _choices(one: Candidate) -> list[tuple[str, object]]:
    """The settings that have no size, each with its name."""
    named = {"policy": one.policy, "xla": one.xla, "widths": one.widths, "tf32": one.tf32, "pipeline": one.pipeline}
    return list(named.items())
