"""Time to a metric, worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from autotune.decide.learning import epoch_seconds, time_to, time_to_accuracy
from autotune.decide.timing import pooled_speedup
from autotune.trial import Candidate, Effect, EpochPoint, Policy, Recipe, TrainingRun, Xla

RECIPE = Recipe(3200, 4, 32, "sgd", 0.01, 0.01, "linear", "cosine", 0, 400, evaluations=4)
EFFECT = Effect(False, (), "float32", False, "SGD", None, False, "CPU")


def curve(*metrics: float | None, epoch_s: float = 10.0) -> tuple[EpochPoint, ...]:
    return tuple(EpochPoint(epoch, 1.0, metric, epoch_s * epoch) for epoch, metric in enumerate(metrics, start=1))


def run(points: Sequence[EpochPoint]) -> TrainingRun:
    candidate = Candidate(Policy("float32"), 32, Xla.OFF, ())
    metric, elapsed_s = (points[-1].metric, points[-1].elapsed_s) if points else (None, 0.0)
    return TrainingRun(candidate, 0, RECIPE, metric, tuple(points), 400, 0, None, True, elapsed_s, "w", EFFECT)


@pytest.mark.parametrize(
    ("metrics", "target", "expected_s"),
    [
        ((0.2, 0.4, 0.6), 0.6, 30.0),
        ((0.2, 0.4, 0.6), 0.5, 25.0),
        ((0.2, 0.4, 0.6), 0.4, 20.0),
        ((0.2, 0.4, 0.6), 0.61, None),
        ((0.7, 0.5, 0.8), 0.1, 10.0),  # reached before the first evaluation, nobody knows when
        ((0.2, None, 0.6), 0.3, 15.0),  # in a straight line over the epoch that was not evaluated
        ((None, None, 0.6), 0.3, 30.0),
        ((0.2, 0.6, 0.3, 0.7), 0.5, 17.5),  # the first time
        ((None, None), 0.5, None),
        ((), 0.5, None),
    ],
)
def test_time_to(metrics: tuple[float | None, ...], target: float, expected_s: float | None) -> None:
    found = time_to(curve(*metrics), target, higher=True)
    assert found == (None if expected_s is None else pytest.approx(expected_s))
    mirrored = curve(*(None if metric is None else -metric for metric in metrics))
    assert time_to(mirrored, -target, higher=False) == found


def test_a_candidate_that_steps_twice_as_fast_and_learns_as_much_an_epoch() -> None:
    baseline = {seed: run(curve(0.2, 0.4, 0.5, 0.6)) for seed in (7, 5)}
    candidate = {5: run(curve(0.2, 0.4, 0.5, 0.6, epoch_s=5.0)), 7: run(curve(0.2, 0.4, 0.6, 0.6, epoch_s=4.0))}
    found = time_to_accuracy(baseline, candidate, 0.01, higher=True)
    assert found is not None
    assert found.seeds == (5, 7)
    assert found.baseline_s == pytest.approx((39.0, 39.0))
    assert found.candidate_s == pytest.approx((19.5, 8 + 4 * 0.19 / 0.2))
    expected = pooled_speedup([2.0, 39 / 11.8])
    assert found.ratio is not None
    assert (found.ratio.estimate, found.ratio.low, found.ratio.high) == pytest.approx(
        (expected.estimate, expected.low, expected.high)
    )
    assert found.ratio.estimate == pytest.approx(math.sqrt(2.0 * 39 / 11.8))
    assert found.ratio.method == "t interval on log ratios over 2 seeds"
    assert (found.ratio.n, found.ratio.level) == (2, 0.95)


def test_a_margin_of_each_seed_and_a_metric_that_falls() -> None:
    baseline = {seed: run(curve(2.0, 1.5, 1.0)) for seed in (0, 1)}
    candidate = {seed: run(curve(2.0, 1.0, 1.0)) for seed in (0, 1)}
    found = time_to_accuracy(baseline, candidate, {0: 0.5, 1: 0.25}, higher=False)
    assert found is not None
    assert found.baseline_s == pytest.approx((20.0, 25.0))
    assert found.candidate_s == pytest.approx((15.0, 17.5))


def test_no_ratio_where_a_seed_was_not_reached_or_is_alone() -> None:
    good, poor = run(curve(0.2, 0.6)), run(curve(0.2, 0.5))
    found = time_to_accuracy({0: good, 1: good}, {0: good, 1: poor}, 0.01, higher=True)
    assert found is not None
    assert found.candidate_s == (pytest.approx(19.75), None)
    assert found.ratio is None
    alone = time_to_accuracy({0: good, 1: good}, {1: good}, 0.01, higher=True)
    assert alone is not None
    assert (alone.seeds, alone.ratio) == ((1,), None)


def test_without_a_common_seed_there_is_nothing_to_tell() -> None:
    good, without = run(curve(0.2, 0.6)), run(curve(0.2, None))
    assert time_to_accuracy({0: good}, {1: good}, 0.01, higher=True) is None
    assert time_to_accuracy({0: without}, {0: good}, 0.01, higher=True) is None


def test_an_epoch_without_the_one_that_compiles() -> None:
    points = [EpochPoint(1, 1.0, None, 12.0), EpochPoint(2, 1.0, None, 14.0), EpochPoint(3, 1.0, 0.5, 17.0)]
    assert epoch_seconds(run(points)) == 2.5
    assert epoch_seconds(run(points[:1])) == 12.0
    assert epoch_seconds(run([])) is None
