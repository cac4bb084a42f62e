"""When a training may end early: slow starters go on, clear losers do not, and how often it is wrong."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from autotune.decide import stopping
from autotune.trial import EarlyStop, EpochPoint
from tests.decide.learning_curves import MIDDLE, UNTRAINED, Recorded, recorded

MARGIN = 0.01
SLOWEST = 0.21  # of what the baseline has learned by the middle, of any that was measured and ended within the margin
NEEDED = -2.5 * MARGIN  # of the first of two seeds


def curve(middle: float | None, end: float = 0.8) -> tuple[EpochPoint, ...]:
    return (EpochPoint(1, 2.0, None, 1.0), EpochPoint(2, 1.5, middle, 2.0), EpochPoint(4, 1.0, end, 4.0))


def stops(*middles: float | None, higher: bool = True, untrained: float = 0.1, needed: float = NEEDED):
    curves = [curve(middle) for middle in middles]
    return stopping.early_stops(curves[0], curves, needed=needed, untrained=untrained, higher=higher)


def test_the_threshold_by_hand() -> None:
    # P = 0.6, noise 0.01 (sample standard deviation of 0.70, 0.71, 0.69): 0.025 + 0.3 * 0.6 + 4 * 0.01 = 0.245
    [stop] = stops(0.70, 0.71, 0.69)
    assert stop.epoch == 2
    assert stop.metric == pytest.approx(0.70 - 0.245)
    assert stop.ends(2, 0.45)
    assert not stop.ends(2, 0.46)
    assert not stop.ends(1, 0.1), "another epoch"
    assert not stop.ends(2, None), "a metric that is not finite is another matter"


def test_a_metric_that_falls_is_the_mirror_image() -> None:
    [stop] = stops(0.30, 0.29, 0.31, higher=False, untrained=0.9)
    assert stop.metric == pytest.approx(1 - (0.70 - 0.245))
    assert stop.ends(2, 0.55)
    assert not stop.ends(2, 0.54)


@pytest.mark.parametrize(
    "middles",
    [
        (0.70,),  # one seed says nothing of the noise
        (0.70, None, 0.69),  # one seed was not evaluated there
        (None, 0.70, 0.69),
        (0.13, 0.131, 0.129),  # nothing learned that could be lost
        (0.60, 0.50, 0.70),  # as noisy as a guess is far off
        (0.70, float("nan"), 0.69),
    ],
)
def test_where_nothing_can_be_said_nothing_is_stopped(middles) -> None:
    assert stops(*middles) == ()


def test_the_last_epoch_is_never_one() -> None:
    lone = (EpochPoint(1, 1.0, 0.7, 1.0),)
    assert stopping.early_stops(lone, [lone, lone], needed=NEEDED, untrained=0.1, higher=True) == ()
    assert [stop.epoch for stop in stops(0.7, 0.7)] == [2]


def test_the_more_it_may_lose_the_later_it_is_stopped() -> None:
    [strict], [lax] = stops(0.7, 0.7, needed=-0.01), stops(0.7, 0.7, needed=-0.05)
    assert strict.metric - lax.metric == pytest.approx(0.04)


def _of(model: str) -> tuple[dict[int, Recorded], list[Recorded]]:
    runs = [run for run in recorded() if run.model == model]
    return {run.seed: run for run in runs if run.is_baseline}, [run for run in runs if not run.is_baseline]


def _stop_for(run: Recorded, baseline: dict[int, Recorded]) -> EarlyStop:
    others = [own.curve for own in baseline.values()]
    [stop] = stopping.early_stops(baseline[run.seed].curve, others, needed=NEEDED, untrained=UNTRAINED, higher=True)
    return stop


@pytest.mark.parametrize("model", ["digits_mlp", "cifar_mlp"])
def test_of_trainings_that_were_measured_none_that_ended_within_the_margin_is_stopped(model) -> None:
    baseline, candidates = _of(model)
    good = [run for run in candidates if run.accuracy[-1] - baseline[run.seed].accuracy[-1] >= -MARGIN]
    lags = [
        (baseline[run.seed].accuracy[MIDDLE - 1] - run.accuracy[MIDDLE - 1])
        / (baseline[run.seed].accuracy[MIDDLE - 1] - UNTRAINED)
        for run in good
    ]
    assert len(good) >= 2
    assert max(lags) <= SLOWEST, "what the simulation below takes for the slowest"
    assert not any(_stop_for(run, baseline).ends(MIDDLE, run.accuracy[MIDDLE - 1]) for run in good)


@pytest.mark.parametrize("model", ["digits_mlp", "cifar_mlp"])
def test_of_trainings_that_were_measured_clear_losers_are_stopped_and_nobody_else(model) -> None:
    baseline, candidates = _of(model)
    stopped = [run for run in candidates if _stop_for(run, baseline).ends(MIDDLE, run.accuracy[MIDDLE - 1])]
    lost = [run for run in candidates if run.accuracy[-1] - baseline[run.seed].accuracy[-1] < -4 * MARGIN]
    assert set(stopped) <= set(lost)
    assert len(stopped) >= len(lost) / 4 > 0


@pytest.mark.parametrize("learned", [0.05, 0.1, 0.24, 0.75])
@pytest.mark.parametrize("noise", [0.003, 0.01, 0.03])
@pytest.mark.parametrize("seeds", [3, 5])
def test_candidates_that_lose_nothing_are_stopped_at_most_as_often_as_is_stated(learned, noise, seeds) -> None:
    """In the middle they trail by anything up to SLOWEST of what the baseline has learned, and vary as it does.

    `needed` is as strict as it can be: minus the margin.
    """
    rng, studies, wrong = random.Random(f"{learned} {noise} {seeds}"), 4000, 0
    for _ in range(studies):
        middles = [UNTRAINED + learned + rng.gauss(0, noise) for _ in range(seeds)]
        found = stops(*middles, needed=-MARGIN)
        middle = UNTRAINED + learned * (1 - rng.uniform(0, SLOWEST)) + rng.gauss(0, noise)
        wrong += any(stop.ends(2, middle) for stop in found)
    assert wrong <= stopping.ERROR * studies


def test_candidates_that_learn_nothing_are_stopped() -> None:
    rng, studies, right = random.Random(1), 1000, 0
    for _ in range(studies):
        middles = [0.35 + rng.gauss(0, 0.01) for _ in range(3)]
        right += any(stop.ends(2, 0.1 + rng.gauss(0, 0.01)) for stop in stops(*middles))
    assert right > 0.95 * studies


def test_a_stop_is_plain() -> None:
    stop = EarlyStop(2, 0.5)
    assert replace(stop, higher=False).ends(2, 0.6)
    assert not replace(stop, higher=False).ends(2, 0.5)
