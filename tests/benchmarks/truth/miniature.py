"""Comparisons of the baseline with itself, and studies in miniature that are put together from them.

A miniature study does what a real one does with its clock: it screens a few candidates against one baseline in one
process, and confirms the fastest of them in three other processes. Here every candidate is the baseline, so whatever
it finds is an error. The judgement is the product's own (`autotune.decide.timing`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp
from statistics import stdev

from autotune.config.objective import ObjectiveConfig
from autotune.decide import timing
from autotune.trial import Interval, TimingVerdict

SCREENED = 2
"""Candidates that a miniature study screens."""

THRESHOLD = ObjectiveConfig().threshold
"""The least speedup that counts as faster."""

CONFIRMING = 3
"""Fresh processes that confirm one: `search.timing.processes`."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Step times of paired blocks of two equal models [ms]; entry i of both was measured one right after the other."""

    own_ms: tuple[float, ...]
    baseline_ms: tuple[float, ...]

    @property
    def log_ratios(self) -> list[float]:
        """One entry a pair; the truth is 0."""
        return timing.log_ratios(self.baseline_ms, self.own_ms, 1, 1)


@cache
def interval_of(pairs: Pairs) -> Interval:
    """The speedup within one process, of which the truth is 1."""
    return timing.speedup(pairs.log_ratios)


@dataclass(frozen=True, slots=True)
class Process:
    """All that one fresh process compared, in rows: one screening and the confirmations of `CONFIRMING` other studies.

    Attributes:
        loaded: whether another process took a core in random bursts meanwhile.
        screenings: one a row, each of `SCREENED` candidates.
        confirmations: `CONFIRMING` a row, in the order of time.
    """

    loaded: bool
    screenings: tuple[tuple[Pairs, ...], ...]
    confirmations: tuple[Pairs, ...]

    @property
    def comparisons(self) -> list[Pairs]:
        """All of them."""
        return [pairs for screening in self.screenings for pairs in screening] + list(self.confirmations)


@dataclass(frozen=True, slots=True)
class Miniature:
    """One study: `screened` in one process, `confirming` one in each of three others."""

    screened: tuple[Pairs, ...]
    confirming: tuple[Pairs, ...]

    @property
    def fastest(self) -> Interval:
        """The screening figure of the candidate that would be confirmed."""
        return max((interval_of(pairs) for pairs in self.screened), key=lambda interval: interval.estimate)

    @property
    def confirmed(self) -> Interval:
        """The figure that would be quoted."""
        return timing.pooled_speedup([interval_of(pairs).estimate for pairs in self.confirming])

    @property
    def confirmed_faster(self) -> bool:
        """Whether the product would say FASTER of it."""
        found = [interval_of(pairs) for pairs in self.confirming]
        return timing.verdict_over_processes(found, THRESHOLD) is TimingVerdict.FASTER

    @property
    def says_faster(self) -> bool:
        """Whether the study names a winner: only what screening puts above the threshold is confirmed."""
        return self.fastest.estimate > THRESHOLD and self.confirmed_faster


def is_faster(interval: Interval) -> bool:
    """Whether the product would say FASTER of one process."""
    return timing.verdict(interval, THRESHOLD) is TimingVerdict.FASTER


def between_processes(processes: Sequence[Process]) -> tuple[Interval, float]:
    """Mean speedup over all comparisons, the process being the unit, and the spread of its processes [per cent]."""
    centres = [
        timing.centre([timing.centre(pairs.log_ratios) for pairs in process.comparisons]) for process in processes
    ]
    return timing.pooled_speedup([exp(centre) for centre in centres]), 100 * stdev(centres)


def first_pair(processes: Sequence[Process]) -> Interval:
    """Mean speedup of the first pair of each comparison alone, the process being the unit.

    It tells whether a model's first block is slower than its others, such as the baseline's after another model was
    built: the mean over all pairs would hide that.
    """
    centres = [timing.centre([pairs.log_ratios[0] for pairs in process.comparisons]) for process in processes]
    return timing.pooled_speedup([exp(centre) for centre in centres])


def once_each(processes: Sequence[Process]) -> list[Miniature]:
    """Studies that use every measurement once: what one process screened is confirmed in the next three.

    Raises:
        ValueError: too few processes for a study to be confirmed in others than it was screened in.
    """
    if len(processes) <= CONFIRMING:
        raise ValueError(f"{len(processes)} processes are too few, {CONFIRMING + 1} are the fewest")
    studies = []
    for number, process in enumerate(processes):
        following = [processes[(number + step) % len(processes)] for step in range(1, CONFIRMING + 1)]
        for row, screened in enumerate(process.screenings):
            confirming = (other.confirmations[CONFIRMING * row + step] for step, other in enumerate(following))
            studies.append(Miniature(screened, tuple(confirming)))
    return studies


def resampled(processes: Sequence[Process], studies: int, seed: int) -> Iterator[Miniature]:
    """Studies of randomly drawn processes, and of comparisons that are drawn within each."""
    chance = random.Random(seed)
    for _ in range(studies):
        first, *others = chance.sample(processes, CONFIRMING + 1)
        yield Miniature(chance.choice(first.screenings), tuple(chance.choice(other.confirmations) for other in others))
