"""Screenings that are given up: only losers, seldom others, and nothing of what the others show."""

from __future__ import annotations

import math
import random

import pytest

from autotune.decide import timing

PROBES = 400


def test_eight_pairs_that_all_tell_the_same() -> None:
    ratios = [math.log(0.9)] * 7
    assert not timing.hopeless(ratios, 1.0), "too few have a 99 % interval"
    ratios.append(math.log(0.9))
    assert timing.hopeless(ratios, 1.0)
    assert timing.hopeless(ratios, 0.91)
    assert not timing.hopeless(ratios, 0.9)


def test_one_pair_above_is_enough_for_eight_to_go_on() -> None:
    assert not timing.hopeless([math.log(0.9)] * 7 + [math.log(1.2)], 1.0)


def probe(truth: float, noise: float, chance: random.Random) -> tuple[list[float], bool]:
    """A screening of a candidate of this speedup against a bound of 1; a pair in ten is hit by five times the noise."""
    ratios: list[float] = []
    while True:
        hit = chance.gauss(0, 5 * noise) if chance.random() < 0.1 else 0.0
        ratios.append(math.log(truth) + chance.gauss(0, noise) + hit)
        if timing.enough(ratios, min_pairs=10, max_pairs=30, half_width=0.05):
            return ratios, False
        if timing.hopeless(ratios, 1.0):
            return ratios, True


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
@pytest.mark.parametrize(("truth", "most"), [(1.0, 0.05), (1.05, 0.02), (1.2, 0.005)])
def test_who_is_not_out_is_seldom_given_up(truth: float, most: float, noise: float) -> None:
    chance = random.Random(f"{truth} {noise}")
    assert sum(probe(truth, noise, chance)[1] for _ in range(PROBES)) <= most * PROBES


def test_clear_losers_take_fewer_pairs() -> None:
    chance = random.Random(2)
    losers, winners = ([len(probe(truth, 0.1, chance)[0]) for _ in range(50)] for truth in (0.7, 1.4))
    assert sum(losers) / 50 < 0.5 * sum(winners) / 50


def test_the_interval_of_those_that_went_on_covers_as_it_did() -> None:
    """Of candidates that are better than the bound by the width of an interval."""
    chance, truth, covered, went_on = random.Random(3), 1.15, 0, 0
    for _ in range(PROBES):
        ratios, given_up = probe(truth, 0.1, chance)
        if not given_up:
            found = timing.speedup(ratios)
            went_on += 1
            covered += found.low <= truth <= found.high
    assert went_on > 0.99 * PROBES
    assert covered / went_on > 0.92
