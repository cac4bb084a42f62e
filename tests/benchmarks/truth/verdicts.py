"""The accuracy verdict, simulated: thousands of studies at once, with a known true loss.

Judging goes by the product's own numbers: its looks with their levels, its gate and its half-width. Only the loop over
studies is different, for speed; `by_product` is the same with `accuracy.judge` itself, and a test holds the two
together. The margin is 1, so that losses and spreads are in margins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from autotune.config.search import SearchConfig
from autotune.decide import accuracy
from autotune.decide.accuracy import Look
from autotune.trial import AccuracyVerdict
from tests.benchmarks.truth.scatter import Array, Scatter

Flags = NDArray[np.bool_]

VERDICTS = SearchConfig().finalists
"""How many may be looked at in a study."""
PILOT = SearchConfig().gate_seeds
"""Seeds of the gate, whose spread counts in the verdict."""
SEEDS = PILOT + accuracy.looks(math.inf, 1.0)[-1].seeds
"""The most that one candidate is trained on."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What confirmations ended with, one entry a study.

    Attributes:
        passed: PASS at the last look that was taken.
        failed: FAIL there.
        seeds: new seeds trained, each on both sides.
    """

    passed: Flags
    failed: Flags
    seeds: NDArray[np.int_]


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of studies with its exact 95 % interval (Clopper and Pearson, Biometrika 26, 1934)."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.estimate:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


def quiet(verdicts: int = 1) -> tuple[Look, ...]:
    """The product's looks where the baseline varies little; the level is shared by as many verdicts."""
    return accuracy.looks(None, 1.0, verdicts=verdicts)


def noisy(verdicts: int = 1) -> tuple[Look, ...]:
    """The product's looks where the baseline varies much."""
    return accuracy.looks(math.inf, 1.0, verdicts=verdicts)


def rate(hits: Flags) -> Rate:
    """How often it was so."""
    interval = stats.binomtest(int(hits.sum()), hits.size).proportion_ci(0.95, method="exact")
    return Rate(float(hits.mean()), float(interval.low), float(interval.high))


def confirm(above: Array, looks: Sequence[Look], pilot: int = PILOT) -> Verdicts:
    """Confirmations, given by how much each seed is above its margin, of shape [studies, seeds].

    The first `pilot` seeds are those of the gate, of which only the spread counts. As in autotune.study.confirm, an
    open verdict whose mean is below the margin is not taken further.
    """
    studies = len(above)
    passed, failed = np.zeros(studies, bool), np.zeros(studies, bool)
    seeds, open_ = np.zeros(studies, int), np.ones(studies, bool)
    before = above[:, :pilot].var(axis=1) * pilot if pilot else np.zeros(studies)
    for look in looks:
        seeds[open_] = look.seeds
        new = above[:, pilot : pilot + look.seeds]
        mean, freedom = new.mean(axis=1), look.seeds - 1 + max(0, pilot - 1)
        spread = np.sqrt((new.var(axis=1) * look.seeds + before) / freedom)
        # The half-width grows with the spread in proportion, so that of a spread of 1 serves for all.
        half = accuracy.resolvable_margin(1.0, look.seeds, level=look.level, pilot=pilot) * spread
        passed |= open_ & (mean - half > 0)
        failed |= open_ & (mean + half < 0)
        open_ &= ~passed & ~failed & (mean > 0)
    return Verdicts(passed, failed, seeds)


def by_product(
    deltas: Sequence[float], margins: Sequence[float], looks: Sequence[Look], pilot: int = PILOT
) -> tuple[AccuracyVerdict, int]:
    """One confirmation by the product's own judge: its verdict and the new seeds trained."""
    before = [delta + margin for delta, margin in zip(deltas[:pilot], margins[:pilot], strict=True)]
    for look in looks:
        seeds = range(pilot, pilot + look.seeds)
        new, needed = [deltas[seed] for seed in seeds], [margins[seed] for seed in seeds]
        found = accuracy.judge(new, seeds, needed, level=look.level, pilot=before)
        if found.verdict is not AccuracyVerdict.INCONCLUSIVE or found.delta.estimate <= -found.margin:
            break
    return found.verdict, found.delta.n


def gate(deltas: Array) -> Flags:
    """Which candidates go on from verify, of differences whose last axis is the gate's seeds; by the product's rule.

    Verify stops after a first seed so bad that the others would have to beat the baseline by a margin.
    """
    seeds = deltas.shape[-1]
    needed = -accuracy.GATE * seeds - np.cumsum(deltas, axis=-1)[..., :-1]
    left = np.arange(seeds - 1, 0, -1)
    through: Flags = (deltas.sum(axis=-1) > -accuracy.GATE * seeds) & np.all(needed <= left, axis=-1)
    return through


@dataclass(frozen=True, slots=True)
class Answers:
    """What whole studies named, one entry a study.

    Attributes:
        winner: index of the candidate that was named; -1 for the baseline.
        trainings: of candidates and of the baseline, in the verify stage and the confirmation.
    """

    winner: NDArray[np.int_]
    trainings: NDArray[np.int_]


def study(
    rng: np.random.Generator,
    kind: Scatter,
    spread: float,
    losses: Sequence[float],
    looks: Sequence[Look],
    *,
    verdicts: int = VERDICTS,
    studies: int,
) -> Answers:
    """Studies of candidates with these true losses, the fastest first, all of them faster than the baseline.

    Each goes through the gate on the same seeds; those that pass are confirmed in turn on the same new ones, until one
    is PASS or as many `verdicts` were looked at.
    """
    deltas = spread * kind.draw(rng, (studies, len(losses), SEEDS)) - np.asarray(losses)[:, None]
    through = gate(deltas[..., :PILOT])
    winner, looked_at = np.full(studies, -1), np.zeros(studies, int)
    trainings, baseline = np.full(studies, PILOT), np.zeros(studies, int)
    for index in range(len(losses)):
        searching = (winner < 0) & (looked_at < verdicts)
        looked = searching & through[:, index]
        found = confirm(1 + deltas[:, index], looks)
        trainings += searching * PILOT + looked * found.seeds
        baseline = np.where(looked, np.maximum(baseline, found.seeds), baseline)
        looked_at += looked
        winner[looked & found.passed] = index
    return Answers(winner, trainings + baseline)


NAIVE: dict[str, Callable[[Array], Flags]] = {
    "one seed above -margin": lambda above: above[:, 0] > 0,
    "mean of 3 above -margin": lambda above: above[:, :3].mean(axis=1) > 0,
    "3, 4, 5 seeds at 5 % each": lambda above: confirm(above, [Look(n, 0.05) for n in (3, 4, 5)], pilot=0).passed,
}
"""What a simpler tuner takes for as good as the baseline, given by how much each seed is above its margin."""
