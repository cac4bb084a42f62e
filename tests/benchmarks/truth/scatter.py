"""How metrics may vary from seed to seed: paired differences of mean 0 and standard deviation 1, of several kinds.

Candidates of one study share the baseline's trainings, so their differences are correlated through its noise. What a
seed does to both alike cancels in the difference; what it does to the size of the noise does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Shape: TypeAlias = tuple[int, int, int]
"""Studies, candidates, seeds."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """A kind of noise in a metric.

    Attributes:
        draw: differences, candidate minus baseline, of the given shape.
        skewed: whether it has a long tail to one side. Student's t from a handful of seeds is known to be liberal for
            it, and there is no cure: a collapse of one training in ten is not even seen in five with probability 0.59.
    """

    name: str
    draw: Callable[[np.random.Generator, Shape], Array]
    skewed: bool = False


def _baseline(shape: Shape) -> Shape:
    return shape[0], 1, shape[2]


def _normal(rng: np.random.Generator, shape: Shape) -> Array:
    return (rng.standard_normal(shape) - rng.standard_normal(_baseline(shape))) / math.sqrt(2)


def _student(rng: np.random.Generator, shape: Shape) -> Array:
    """Three degrees of freedom, the fewest whole number with a variance, which is 3."""
    return (rng.standard_t(3, shape) - rng.standard_t(3, _baseline(shape))) / math.sqrt(2 * 3)


def _contaminated(rng: np.random.Generator, shape: Shape) -> Array:
    """One difference in ten comes from a normal five times as wide."""
    wide = np.where(rng.random(shape) < 0.1, 5.0, 1.0)
    return wide * rng.standard_normal(shape) / math.sqrt(0.9 + 0.1 * 25)


def _by_seed(rng: np.random.Generator, shape: Shape) -> Array:
    """A large effect of the seed on both metrics, which also sets how far apart they come out."""
    seed = rng.standard_normal(_baseline(shape))
    baseline = 10 * seed + 0.5 * rng.standard_normal(_baseline(shape))
    candidate = 10 * seed + np.exp(seed / 2) * rng.standard_normal(shape)
    return (candidate - baseline) / math.sqrt(math.exp(0.5) + 0.25)


def _hard_seeds(rng: np.random.Generator, shape: Shape) -> Array:
    """On seeds that are hard for both the candidate loses more, and varies more."""
    seed = rng.standard_normal(_baseline(shape))
    return (seed / 2 + np.exp(-seed / 2) * rng.standard_normal(shape)) / math.sqrt(0.25 + math.exp(0.5))


def _left_tail(rng: np.random.Generator, shape: Shape) -> Array:
    return 1 - rng.standard_exponential(shape)


def _bad_seeds(depth: float) -> Callable[[np.random.Generator, Shape], Array]:
    """One training in ten comes out worse by `depth` standard deviations of the others."""
    share = 0.1

    def draw(rng: np.random.Generator, shape: Shape) -> Array:
        usual = _normal(rng, shape)
        return (usual - depth * ((rng.random(shape) < share) - share)) / math.sqrt(1 + depth**2 * share * (1 - share))

    return draw


KINDS = (
    Scatter("normal", _normal),
    Scatter("Student t, 3 degrees", _student),
    Scatter("one in ten 5 x wider", _contaminated),
    Scatter("seed sets the size", _by_seed),
    Scatter("hard seeds lose more", _hard_seeds, skewed=True),
    Scatter("one in ten bad, 3 sd", _bad_seeds(3), skewed=True),
    Scatter("one in ten bad, 6 sd", _bad_seeds(6), skewed=True),
    Scatter("exponential left tail", _left_tail, skewed=True),
)
