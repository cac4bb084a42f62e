"""What goes best together: throughput as a product of what each setting gains by itself.

A batch, XLA and more steps a call each speed a step up by a factor that depends little on the others. So a few trials
tell which combination is likely the fastest, long before a sampler that knows nothing of factors has come upon it. What
does depend on another setting has a term of its own: more steps a call and XLA gain less at a large batch, 16 bit gains
more there and at aligned widths, and XLA does something else to 16 bit than to float32.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from autotune.trial import Candidate, Xla

FEWEST = 3
"""Fewer measured candidates, the baseline among them, tell nothing of factors."""

MOST = 60
"""With more measured candidates a sampler knows as much, and the model would only cost time."""

_PROMISING = 0.97
"""What is predicted to come to this share of the fastest so far is worth a trial."""

# Ridge penalties on the terms, in units of one observation's squared residual: a factor is 1 until something is seen
# of it, one of two settings together all the more, and a batch lies on the line through the others. So each is one
# over a term's variance, too: before anything is seen of a setting it may well gain or lose a quarter.
_PENALTY, _PENALTY_BATCH, _PENALTY_TOGETHER = 0.05, 0.3, 0.5

# What a factor is off by in its logarithm, at least: replayed on recorded landscapes, one in ten of the candidates that
# were left out is faster than its bound, and none is faster than what was measured by 3 %.
_LEAST_SD = 0.06

# Standard deviations from a prediction to its bound: 1.6 end a search of made-up devices three trials sooner, and miss
# the best by over 3 % on twice as many of them.
_SIDE = 2.5


def knows(speedups: Mapping[Candidate, float]) -> bool:
    """Whether so much was measured that factors tell something, and not so much that a sampler knows better."""
    return FEWEST <= len(speedups) <= MOST


def likeliest(speedups: Mapping[Candidate, float], candidates: Collection[Candidate], least: float) -> Candidate | None:
    """The candidate that is predicted to be the fastest, if it may come to `least`; else one that yet may by chance.

    Args:
        speedups: of the measured candidates, over the baseline's throughput; above 0.
        candidates: to choose from; of equals the first.
        least: the speedup of the fastest so far that it competes with.

    Returns:
        None where too little or too much was measured, or nothing promising is left.
    """
    if not knows(speedups) or not candidates or least <= 0:
        return None
    predicted, sd = _predicted(speedups, candidates)
    best = int(np.argmax(predicted))
    if predicted[best] < math.log(least * _PROMISING):
        highest = predicted + _SIDE * sd
        best = int(np.argmax(highest))
        if highest[best] < math.log(least):
            return None
    return list(candidates)[best]


def at_most(speedups: Mapping[Candidate, float], candidates: Collection[Candidate]) -> float:
    """The speedup that the best of these candidates is not likely to exceed; `speedups` as for `likeliest`."""
    predicted, sd = _predicted(speedups, candidates)
    return math.exp(float(np.max(predicted + _SIDE * sd)))


def _predicted(speedups: Mapping[Candidate, float], candidates: Collection[Candidate]) -> tuple[np.ndarray, np.ndarray]:
    """The logarithm of each candidate's speedup, and its standard deviation: a ridge regression, read as Bayes'."""
    terms = _Terms([*speedups, *candidates])
    measured = np.log(list(speedups.values()))
    centre = measured.mean()
    rows, asked = terms.of(speedups), terms.of(candidates)
    inverse = np.linalg.inv(rows.T @ rows + np.diag(terms.penalties))
    weights = inverse @ rows.T @ (measured - centre)
    residuals = measured - centre - rows @ weights
    free = max(1.0, len(measured) - float(np.trace(rows @ inverse @ rows.T)))
    sd = max(_LEAST_SD, math.sqrt(float(residuals @ residuals) / free))
    return centre + asked @ weights, sd * np.sqrt(np.einsum("ij,jk,ik->i", asked, inverse, asked))


class _Terms:
    """The terms of the model: a column for each choice of a setting, one for each size, and some of pairs.

    A batch has both, since throughput grows with it only up to some size.

    Args:
        candidates: whose choices there are; the first has the user's own batch and widths.
    """

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        together = list(candidates)
        self._own = together[0]
        self._choices = list(dict.fromkeys(choice for one in together for choice in _choices(one)))
        self._batches = sorted({one.batch_size for one in together})
        counts = {_PENALTY: len(self._choices) + 3, _PENALTY_BATCH: len(self._batches), _PENALTY_TOGETHER: 5}
        self.penalties = np.repeat(list(counts), list(counts.values()))

    def of(self, candidates: Iterable[Candidate]) -> np.ndarray:
        """One row a candidate."""
        return np.array([self._row(one) for one in candidates], dtype=float)

    def _row(self, one: Candidate) -> list[float]:
        own = set(_choices(one))
        batch, steps = math.log2(one.batch_size), math.log2(one.steps_per_execution)
        larger = math.log2(one.batch_size / self._own.batch_size) / 2
        reduced, xla = not one.policy.is_float32, one.xla is Xla.ON
        aligned = one.widths != self._own.widths
        return [
            *(choice in own for choice in self._choices),
            *(batch, steps, math.log2(one.accumulation)),
            *(one.batch_size == size for size in self._batches),
            *(batch * steps / 8, larger * xla, larger * reduced, reduced and xla, reduced and aligned),
        ]


def _choices(one: Candidate) -> list[tuple[str, object]]:
    """The settings that have no size, each with its name."""
    named = {"policy": one.policy, "xla": one.xla, "widths": one.widths, "tf32": one.tf32, "pipeline": one.pipeline}
    return list(named.items())
