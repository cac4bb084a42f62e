from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from autotune.decide import accuracy
from autotune.decide.accuracy import Look
from autotune.trial import Accuracy, AccuracyVerdict

PASS, FAIL, INCONCLUSIVE = AccuracyVerdict.PASS, AccuracyVerdict.FAIL, AccuracyVerdict.INCONCLUSIVE
QUIET, NOISY = accuracy.looks(0.0, 1.0), accuracy.looks(1.0, 1.0)
LEVEL = 0.0225

# Student's t with 2 degrees of freedom in closed form, (2p - 1) / sqrt(2p(1 - p)), at p = 1 - 0.0225.
T2 = 0.955 / math.sqrt(2 * 0.9775 * 0.0225)


@pytest.fixture
def cached_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same quantiles, each computed once: a simulation asks thousands of times for the same few."""
    monkeypatch.setattr(accuracy, "_quantile", lru_cache(maxsize=None)(accuracy._quantile))


def judged(deltas: list[float], margin: float = 0.01, *, level: float = LEVEL, **options: Any) -> Accuracy:
    return accuracy.judge(deltas, range(len(deltas)), [margin] * len(deltas), level=level, **options)


def four_sigma(rate: float, draws: int) -> float:
    return 4 * math.sqrt(rate * (1 - rate) / draws)


@pytest.mark.parametrize(
    ("spread", "seeds"),
    [(None, (3, 4, 5)), (0.0, (3, 4, 5)), (0.0034, (3, 4, 5)), (0.0036, (3, 5, 7)), (0.5, (3, 5, 7))],
)
def test_looks_depend_on_the_baselines_spread_alone(spread: float | None, seeds: tuple[int, ...]) -> None:
    assert tuple(look.seeds for look in accuracy.looks(spread, 0.01)) == seeds


def test_levels_rise_and_are_shared_among_the_verdicts() -> None:
    for spread in (None, 1.0):
        alone, shared = accuracy.looks(spread, 0.01), accuracy.looks(spread, 0.01, verdicts=2)
        assert alone[0].level < alone[1].level < alone[2].level
        assert [look.level for look in shared] == [look.level / 2 for look in alone]


@pytest.mark.parametrize(("fewest", "seeds"), [(3, (3, 4, 5)), (4, (4, 5)), (5, (5,)), (8, (8,))])
def test_no_look_is_at_fewer_seeds_than_asked_for(fewest: int, seeds: tuple[int, ...]) -> None:
    found = accuracy.looks(None, 0.01, fewest=fewest)
    assert tuple(look.seeds for look in found) == seeds
    assert found[-1].level == QUIET[-1].level
    # Looks that are left out leave their level unused: the error can only be smaller.
    assert all(look.level <= max(q.level for q in QUIET if q.seeds <= max(look.seeds, fewest)) for look in found)


def test_the_gate_is_at_its_share_of_the_margin() -> None:
    at = -accuracy.GATE
    assert accuracy.gate([at - 0.2, at + 0.3], [1.0, 1.0])
    assert not accuracy.gate([at - 0.25, at + 0.25], [1.0, 1.0]), "on the gate is not through it"
    assert not accuracy.gate([at - 0.3, at + 0.2], [1.0, 1.0])


def test_a_gate_of_unequal_margins_is_at_their_mean() -> None:
    at = -accuracy.GATE * 1.5
    assert accuracy.gate([at + 0.01] * 2, [1.0, 2.0])
    assert not accuracy.gate([at - 0.01] * 2, [1.0, 2.0])


def test_a_margin_that_follows_the_baseline_is_part_of_the_spread() -> None:
    """With d = -r b exactly, d itself varies and the contrast d + r b does not: on the margin, and no more certain."""
    baselines, share = [0.8, 0.6, 0.7], 0.1
    deltas = [-share * b for b in baselines]
    on_it = accuracy.judge(deltas, range(3), [share * b for b in baselines], level=LEVEL)
    assert on_it.verdict is INCONCLUSIVE
    assert on_it.margin == pytest.approx(0.07)
    within = accuracy.judge([d + 0.001 for d in deltas], range(3), [share * b for b in baselines], level=LEVEL)
    assert within.verdict is PASS, "the contrast has no spread, and lies above zero"
    assert within.delta.estimate == pytest.approx(-0.069)
    assert within.delta.low == pytest.approx(-0.069)
    constant = accuracy.judge([d + 0.001 for d in deltas], range(3), [0.07] * 3, level=LEVEL)
    assert constant.verdict is INCONCLUSIVE, "against a fixed margin the baseline's spread counts"


def test_equal_margins_are_a_fixed_margin() -> None:
    result = judged([-0.003, 0.0, 0.0], margin=0.01)
    assert (result.delta.low + result.margin > 0) is (result.verdict is PASS)
    assert result.margin == pytest.approx(0.01)


def test_spread_is_the_sample_standard_deviation() -> None:
    assert accuracy.spread([1.0, 2.0, 4.0]) == pytest.approx(math.sqrt(7 / 3))
    assert accuracy.spread([3.0, 3.0]) == 0
    assert accuracy.spread([3.0]) is None
    assert accuracy.spread([]) is None


def test_pass_by_hand() -> None:
    # Mean -0.001, sd sqrt(3) x 0.001, standard error 0.001: the bounds are -0.001 -+ 4.553 x 0.001.
    result = judged([-0.003, 0.0, 0.0])
    assert pytest.approx(4.5534, abs=1e-4) == T2
    assert result.delta.estimate == pytest.approx(-0.001)
    assert result.delta.low == pytest.approx(-0.001 - T2 * 0.001)
    assert result.delta.high == pytest.approx(-0.001 + T2 * 0.001)
    assert (result.verdict, result.seeds_needed) == (PASS, None)
    assert result.delta.n == 3
    assert result.delta.level == pytest.approx(0.955)
    assert (result.deltas, result.seeds) == ((-0.003, 0.0, 0.0), (0, 1, 2))
    assert (result.margin, result.level) == (0.01, 0.0225)


def test_the_same_differences_do_not_show_half_the_margin() -> None:
    result = judged([-0.003, 0.0, 0.0], margin=0.005)
    assert result.verdict is INCONCLUSIVE
    # 0.004 to the margin: t(3) sd / sqrt(4) = 3.28 x 0.00173 / 2 = 0.0028 would do.
    assert result.seeds_needed == 4


def test_fail_by_hand() -> None:
    result = judged([-0.018, -0.015, -0.018])
    assert result.delta.high == pytest.approx(-0.017 + T2 * 0.001)
    assert (result.verdict, result.seeds_needed) == (FAIL, None)
    assert judged([-0.014, -0.011, -0.014]).verdict is INCONCLUSIVE, "-0.013 + 0.0046 is above -0.01"


def test_bounds_are_those_of_a_paired_t_test() -> None:
    rng = np.random.default_rng(2)
    baseline, candidate = rng.normal(0.6, 0.01, 7), rng.normal(0.597, 0.01, 7)
    result = judged((candidate - baseline).tolist())
    expected = stats.ttest_rel(candidate, baseline).confidence_interval(1 - 2 * 0.0225)
    assert (result.delta.low, result.delta.high) == pytest.approx((expected.low, expected.high))


def test_a_stricter_level_only_ever_withholds() -> None:
    deltas = [-0.005, -0.003, -0.001]
    assert judged(deltas).verdict is PASS
    assert judged(deltas, level=0.0225 / 4).verdict is INCONCLUSIVE


def test_one_difference_is_no_verdict() -> None:
    with pytest.raises(ValueError, match="at least 2 paired differences, but got 1"):
        judged([0.0])


def outcomes(
    rng: np.random.Generator, looks: tuple[Look, ...], mean: float, sd: float, draws: int, pilot: int = 2
) -> dict[str, float]:
    """Verdicts on a margin of 1 after the last look that was taken, as shares."""
    counts: Counter[str] = Counter()
    for drawn in rng.normal(mean, sd, (draws, pilot + looks[-1].seeds)).tolist():
        earlier, deltas = drawn[:pilot], drawn[pilot:]
        for look in looks:
            verdict = judged(deltas[: look.seeds], margin=1.0, level=look.level, pilot=earlier).verdict
            if verdict is not INCONCLUSIVE:
                break
        counts[verdict.value] += 1
    return {verdict: counts[verdict] / draws for verdict in AccuracyVerdict}


@pytest.mark.usefixtures("cached_quantiles")
@pytest.mark.parametrize("looks", [QUIET, NOISY])
@pytest.mark.parametrize("pilot", [0, 2, 3])
def test_three_looks_let_a_candidate_at_the_margin_pass_in_one_of_twenty(looks: tuple[Look, ...], pilot: int) -> None:
    draws = 2500
    shares = outcomes(np.random.default_rng(7), looks, mean=-1.0, sd=0.6, draws=draws, pilot=pilot)
    assert shares["PASS"] <= 0.05 + four_sigma(0.05, draws)
    assert shares["PASS"] >= 0.03, "nor is the level thrown away"
    assert shares["FAIL"] == pytest.approx(shares["PASS"], abs=4 * math.sqrt(2 * 0.05 / draws))


@pytest.mark.usefixtures("cached_quantiles")
def test_uncorrected_looks_would_let_twice_as_many_pass() -> None:
    uncorrected = tuple(Look(look.seeds, 0.05) for look in QUIET)
    shares = outcomes(np.random.default_rng(7), uncorrected, mean=-1.0, sd=0.5, draws=1500, pilot=0)
    assert shares["PASS"] > 0.08, "three looks at 5 % each"


@pytest.mark.usefixtures("cached_quantiles")
@pytest.mark.parametrize(
    ("looks", "sd", "power"),
    [(QUIET, 0.3, 1.0), (QUIET, 0.5, 0.967), (QUIET, 0.8, 0.706), (NOISY, 0.5, 0.997), (NOISY, 0.8, 0.85)],
)
def test_power_at_no_loss(looks: tuple[Look, ...], sd: float, power: float) -> None:
    shares = outcomes(np.random.default_rng(8), looks, mean=0.0, sd=sd, draws=800)
    assert shares["PASS"] == pytest.approx(power, abs=four_sigma(min(power, 0.99), 800) + 0.005)
    assert shares["FAIL"] < 0.01


def test_the_gates_seeds_lend_their_spread_and_nothing_else() -> None:
    deltas = [-0.003, 0.0, 0.0]
    alone, helped = judged(deltas), judged(deltas, pilot=[0.5, 0.501])
    assert helped.delta.estimate == alone.delta.estimate, "how high the gate's seeds lay does not count"
    assert helped.delta.high - helped.delta.low < alone.delta.high - alone.delta.low
    # Sums of squares 6e-6 and 0.5e-6 on 2 + 1 degrees of freedom.
    half = float(stats.t.ppf(1 - LEVEL, 3)) * math.sqrt(6.5e-6 / 3) / math.sqrt(3)
    assert helped.delta.high - helped.delta.estimate == pytest.approx(half)
    assert helped.delta.method == "paired t over seeds, spread over 5"
    wild = judged(deltas, pilot=[0.0, 0.05])
    assert wild.verdict is INCONCLUSIVE, "nor may they hide a spread"


def test_one_seed_of_the_gate_has_no_spread_to_lend() -> None:
    assert judged([-0.003, 0.0, 0.001], pilot=[0.2]) == judged([-0.003, 0.0, 0.001])


@pytest.mark.usefixtures("cached_quantiles")
def test_a_candidate_far_below_the_margin_fails() -> None:
    shares = outcomes(np.random.default_rng(9), QUIET, mean=-3.0, sd=0.5, draws=300)
    assert shares["FAIL"] > 0.98
    assert shares["PASS"] == 0


def independent_half_width(sd: float, n: int) -> float:
    return float(stats.t.ppf(1 - 0.0225, n - 1) * sd / math.sqrt(n))


@pytest.mark.parametrize(
    ("mean", "sd"), [(0.0, 0.005), (0.0, 0.02), (-0.004, 0.01), (-0.02, 0.01), (0.003, 0.05), (-0.009, 0.002)]
)
def test_seeds_needed_is_the_first_number_that_decides(mean: float, sd: float) -> None:
    needed = accuracy.seeds_needed(mean, sd, 0.01, level=LEVEL)
    assert needed is not None
    distance = abs(mean + 0.01)
    assert independent_half_width(sd, needed) < distance
    assert needed == 2 or independent_half_width(sd, needed - 1) >= distance


@pytest.mark.usefixtures("cached_quantiles")
def test_seeds_needed_grow_with_the_spread_and_shrink_with_the_distance() -> None:
    by_spread = [
        accuracy.seeds_needed(0.0, sd, 0.01, level=LEVEL) or 201 for sd in np.linspace(0.001, 0.1, 40).tolist()
    ]
    assert by_spread == sorted(by_spread)
    assert by_spread[0] < 5
    assert by_spread[-1] == 201, "above 200 there is no answer"
    by_mean = [
        accuracy.seeds_needed(mean, 0.02, 0.01, level=LEVEL) or 201 for mean in np.linspace(-0.01, 0.02, 40).tolist()
    ]
    assert by_mean == sorted(by_mean, reverse=True)
    by_level = [accuracy.seeds_needed(0.0, 0.02, 0.01, level=level) or 201 for level in (0.05, 0.0225, 0.01)]
    assert by_level == sorted(by_level)


def test_seeds_needed_where_there_is_nothing_to_count() -> None:
    assert accuracy.seeds_needed(-0.01, 0.001, 0.01, level=LEVEL) is None, "a mean on the margin is never decided"
    assert accuracy.seeds_needed(0.0, 0.0, 0.01, level=LEVEL) == 2


@pytest.mark.usefixtures("cached_quantiles")
def test_an_open_verdict_always_asks_for_more_seeds_than_it_had() -> None:
    rng = np.random.default_rng(10)
    asked = 0
    for _ in range(300):
        result = judged(rng.normal(-0.005, 0.008, 3).tolist())
        if result.verdict is INCONCLUSIVE and result.seeds_needed is not None:
            asked += 1
            assert result.seeds_needed > 3
    assert asked > 100


def test_the_resolvable_margin_is_where_a_lossless_candidate_begins_to_pass() -> None:
    margin = accuracy.resolvable_margin(0.003, 3, level=LEVEL)
    assert margin == pytest.approx(T2 * 0.003 / math.sqrt(3))
    deltas = [-0.003, 0.0, 0.003]  # mean 0, sd 0.003
    assert judged(deltas, margin=margin * 1.001).verdict is PASS
    assert judged(deltas, margin=margin * 0.999).verdict is INCONCLUSIVE


def test_differences_that_agree_by_rounding_have_the_spread_of_rounding() -> None:
    # Accuracy on 100 examples: three times -0.01 says little about a margin of 0.012.
    assert judged([-0.01] * 3, margin=0.012).verdict is PASS, "taken at face value there is no spread at all"
    coarse = judged([-0.01] * 3, margin=0.012, resolution=0.01)
    assert coarse.verdict is INCONCLUSIVE
    assert coarse.delta.low == pytest.approx(-0.01 - T2 * 0.01 / math.sqrt(6) / math.sqrt(3))
    assert coarse.seeds_needed is not None


@pytest.mark.parametrize("step", [1e-5, 0.001])
def test_a_spread_below_that_of_rounding_is_raised_to_it(step: float) -> None:
    # sd = step in both cases, below 0.01 / sqrt(6) = 0.0041.
    result = judged([-step, 0.0, step], resolution=0.01)
    assert result.delta.high == pytest.approx(T2 * 0.01 / math.sqrt(6) / math.sqrt(3))


def test_a_spread_above_that_of_rounding_is_taken_as_it_is() -> None:
    deltas = [-0.03, 0.0, 0.01]
    assert judged(deltas, resolution=0.01) == judged(deltas)


def test_identical_trainings_pass_on_a_metric_that_resolves_the_margin() -> None:
    assert judged([0.0, 0.0, 0.0], resolution=1 / 5000).verdict is PASS


def rounded_passes(looks: tuple[Look, ...], margin_steps: float, draws: int) -> float:
    """How often a candidate at the margin passes when both metrics are read in whole steps of 0.01."""
    rng, step, passed = np.random.default_rng(12), 0.01, 0
    baseline = rng.uniform(0.5, 0.6, (draws, looks[-1].seeds))
    true = rng.normal(-margin_steps * step, step / 100, (draws, looks[-1].seeds))
    read = (np.round((baseline + true) / step) - np.round(baseline / step)) * step
    for deltas in read.tolist():
        for look in looks:
            read_so_far = deltas[: look.seeds]
            verdict = judged(read_so_far, margin=margin_steps * step, level=look.level, resolution=step).verdict
            if verdict is not INCONCLUSIVE:
                break
        passed += verdict is PASS
    return passed / draws


@pytest.mark.usefixtures("cached_quantiles")
def test_rounding_does_not_raise_the_error_above_its_level() -> None:
    draws = 20000
    assert rounded_passes(QUIET, margin_steps=2.5, draws=draws) <= 0.05 + four_sigma(0.05, draws)


@pytest.mark.usefixtures("cached_quantiles")
def test_a_margin_below_the_resolution_is_not_passed_by_rounding() -> None:
    assert rounded_passes(QUIET, margin_steps=0.5, draws=1000) <= 0.05 + four_sigma(0.05, 1000)


@pytest.mark.parametrize(("n", "b", "c"), [(359, 9, 14), (10000, 150, 176), (20, 0, 0), (50, 12, 0)])
def test_paired_proportion_is_the_normal_interval_of_the_padded_table(n: int, b: int, c: int) -> None:
    # One difference an example: +1, -1 or 0; half an example is added to each of the table's four cells.
    values, weights = np.array([1, -1, 0]), [b + 0.5, c + 0.5, n - b - c + 1]
    mean = np.average(values, weights=weights)
    variance = np.average((values - mean) ** 2, weights=weights)
    low, high = stats.norm.interval(0.95, mean, math.sqrt(variance / (n + 2)))
    interval = accuracy.paired_proportion(n, b, c)
    assert interval.estimate == pytest.approx((b - c) / n)
    assert (interval.low, interval.high) == pytest.approx((low, high))
    assert (interval.n, interval.level) == (n, 0.95)


def test_paired_proportion_by_hand() -> None:
    # 98 + 2 = 100; 12.5 and 4.5: centre 0.08, half 1.95996 x sqrt(17 - 64 / 100) / 100 = 0.07928.
    interval = accuracy.paired_proportion(98, 12, 4)
    assert interval.estimate == pytest.approx(8 / 98)
    assert (interval.low, interval.high) == pytest.approx((0.08 - 0.07928, 0.08 + 0.07928), abs=2e-5)


def test_paired_proportion_covers_the_truth() -> None:
    n, p = 30, np.array([0.12, 0.06, 0.82])  # only candidate, only baseline, both or neither
    covered = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            weight = float(stats.multinomial.pmf([b, c, n - b - c], n, p))
            if weight > 1e-5:
                interval = accuracy.paired_proportion(n, b, c)
                covered += weight * (interval.low <= 0.06 <= interval.high)
    assert covered == pytest.approx(0.95, abs=0.02)


def test_a_difference_of_proportions_is_at_most_one() -> None:
    assert accuracy.paired_proportion(10, 10, 0).high == 1, "centre 0.83 and half 0.27 would be 1.10"
    assert accuracy.paired_proportion(10, 0, 10).low == -1


@pytest.mark.parametrize("seed", range(5))
def test_swapping_the_models_mirrors_the_interval(seed: int) -> None:
    n = 200
    b, c = (int(count) for count in np.random.default_rng(seed).integers(0, 40, 2))
    there, back = accuracy.paired_proportion(n, b, c), accuracy.paired_proportion(n, c, b)
    assert (there.low, there.estimate, there.high) == pytest.approx((-back.high, -back.estimate, -back.low))
