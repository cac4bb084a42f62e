from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from autotune.decide import timing
from autotune.trial import Interval, TimingVerdict

LN2 = math.log(2)


def logs(interval: Interval) -> tuple[float, float, float]:
    return math.log(interval.low), math.log(interval.estimate), math.log(interval.high)


def four_sigma(rate: float, draws: int) -> float:
    return 4 * math.sqrt(rate * (1 - rate) / draws)


def test_log_ratio_is_of_throughput_not_of_step_time() -> None:
    # 32 examples in 2 ms are 16 a ms; 128 in 4 ms are 32 a ms: twice as many. In 8 ms: as many.
    assert timing.log_ratios([2.0, 2.0], [4.0, 8.0], 32, 128) == pytest.approx([LN2, 0.0])


def test_blocks_without_a_neighbour_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        timing.log_ratios([2.0, 2.0], [4.0], 32, 32)


def test_six_pairs_span_from_the_least_to_the_largest() -> None:
    # 0, 1, .. 5 times ln 2 are symmetric about 2.5, which is the median of their Walsh averages.
    interval = timing.speedup([k * LN2 for k in (3, 0, 5, 1, 4, 2)])
    assert interval.estimate == pytest.approx(2**2.5)
    assert (interval.low, interval.high) == pytest.approx((1.0, 32.0))
    assert (interval.n, interval.level) == (6, 0.95)


def test_seven_pairs_use_the_third_walsh_average_from_either_end() -> None:
    # Walsh averages of 0, 1, 2, 4, 8, 16, 32 in order: 0, 0.5, 1, ... from below; 32, 24, 20, ... from above.
    # In all there are 28; the 14th and 15th are 5 and 6 (counted by hand below them: 13 up to 4.5).
    low, centre, high = logs(timing.speedup([0, 1, 2, 4, 8, 16, 32]))
    assert low == pytest.approx(1.0)
    assert high == pytest.approx(20.0)
    walsh = sorted((a + b) / 2 for i, a in enumerate([0, 1, 2, 4, 8, 16, 32]) for b in [0, 1, 2, 4, 8, 16, 32][i:])
    assert centre == pytest.approx(float(np.median(walsh)))


@pytest.mark.parametrize(
    # Critical values of the signed-rank test, two-sided 5 %, as any printed table has them.
    ("n", "critical"),
    [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (11, 10), (12, 13), (13, 17), (14, 21), (15, 25), (20, 52), (30, 137)],
)
def test_bounds_are_at_the_tabulated_ranks(n: int, critical: int) -> None:
    ratios = np.random.default_rng(n).normal(size=n).tolist()
    walsh = sorted((ratios[i] + ratios[j]) / 2 for i in range(n) for j in range(i, n))
    low, _, high = logs(timing.speedup(ratios))
    assert low == pytest.approx(walsh[critical])
    assert high == pytest.approx(walsh[-1 - critical])


@pytest.mark.parametrize("n", [6, 7, 10, 13])
@pytest.mark.parametrize("seed", range(3))
def test_the_interval_is_what_the_exact_signed_rank_test_does_not_reject(n: int, seed: int) -> None:
    ratios = np.random.default_rng(seed).standard_t(3, size=n) * 0.1
    low, _, high = logs(timing.speedup(ratios.tolist()))

    def p_value(shift: float) -> float:
        return float(stats.wilcoxon(ratios - shift, method="exact").pvalue)

    step = 1e-9
    assert p_value(low + step) > 0.05 >= p_value(low - step)
    assert p_value(high - step) > 0.05 >= p_value(high + step)


def test_speedup_and_slowdown_mirror_each_other() -> None:
    ratios = np.random.default_rng(5).normal(0.3, 0.1, size=11).tolist()
    there, back = timing.speedup(ratios), timing.speedup([-ratio for ratio in ratios])
    assert there.estimate * back.estimate == pytest.approx(1)
    assert there.low * back.high == pytest.approx(1)


def test_one_spoilt_pair_hardly_moves_the_estimate() -> None:
    clean = [LN2 + 0.01 * wobble for wobble in (-2, -1, 0, 0, 1, 2, -1, 1, 0, 0)]
    spoilt = [*clean[:-1], LN2 - 3.0]  # a block that took twenty times as long
    assert timing.speedup(clean).estimate == pytest.approx(2, rel=1e-6)
    assert timing.speedup(spoilt).estimate == pytest.approx(2, rel=0.01)
    assert math.exp(sum(spoilt) / 10) < 1.5, "the mean is dragged down by a quarter"


@pytest.mark.parametrize(
    # The widest interval of n pairs, from the least to the largest, covers 1 - 2 / 2**n.
    ("level", "fewest"),
    [(0.5, 2), (0.9, 5), (0.95, 6), (0.96875, 6), (0.969, 7), (0.99, 8)],
)
def test_a_level_that_so_few_pairs_cannot_have_is_refused(level: float, fewest: int) -> None:
    ratios = [k * LN2 for k in range(fewest)]
    for n in range(fewest):
        with pytest.raises(ValueError, match=f"^{n} pairs are too few for a {level:.0%} interval"):
            timing.speedup(ratios[:n], level)
    interval = timing.speedup(ratios, level)
    assert (interval.low, interval.high) == pytest.approx((1.0, 2.0 ** (fewest - 1)))
    assert interval.level == level


def test_what_too_few_pairs_would_need_is_said() -> None:
    with pytest.raises(ValueError, match=r"5 pairs are too few for a 95% interval, which needs 2 / 2\*\*n <= 0\.05$"):
        timing.speedup([0.1] * 5)


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(0, 0.05, n)


def heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_cauchy(n) * 0.01


def disturbed(rng: np.random.Generator, n: int) -> np.ndarray:
    hit = rng.random(n) < 0.2
    return np.where(hit, rng.normal(0, 0.7, n), rng.normal(0, 0.02, n))


@pytest.mark.parametrize("noise", [normal, heavy, disturbed])
def test_coverage_is_exact_for_every_symmetric_noise(noise: Callable[[np.random.Generator, int], np.ndarray]) -> None:
    # P(T <= 8) = 25 / 1024 for ten pairs, at either end.
    exact, draws, truth = 1 - 2 * 25 / 1024, 2000, math.log(1.3)
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(draws):
        interval = timing.speedup((truth + noise(rng, 10)).tolist())
        covered += interval.low <= 1.3 <= interval.high
    assert covered / draws == pytest.approx(exact, abs=four_sigma(exact, draws))


def sampled_until_enough(rng: np.random.Generator, sd: float) -> list[float]:
    ratios: list[float] = []
    while not timing.enough(ratios, min_pairs=10, max_pairs=30, half_width=0.02):
        ratios.append(float(rng.normal(0, sd)))
    return ratios


@pytest.mark.parametrize("sd", [0.02, 0.05])
def test_two_equal_programs_are_not_called_faster(sd: float) -> None:
    rng = np.random.default_rng(3)
    intervals = [timing.speedup(sampled_until_enough(rng, sd)) for _ in range(250)]
    verdicts = [timing.verdict(interval) for interval in intervals]
    assert verdicts.count(TimingVerdict.FASTER) <= 1, "0.1 % is expected"
    assert verdicts.count(TimingVerdict.SLOWER) <= 1
    covered = sum(interval.low <= 1 <= interval.high for interval in intervals) / len(intervals)
    assert covered > 0.95 - four_sigma(0.95, len(intervals)), "the stopping rule does not spoil the coverage"
    above_one = sum(interval.low > 1 for interval in intervals)
    assert above_one > verdicts.count(TimingVerdict.FASTER), "a threshold of 1 would be fooled more often"


def test_a_real_gain_is_found() -> None:
    rng = np.random.default_rng(4)
    faster = sum(
        timing.verdict(timing.speedup((math.log(1.1) + normal(rng, 20)).tolist())) is TimingVerdict.FASTER
        for _ in range(200)
    )
    assert faster / 200 > 0.95


def test_sampling_goes_on_until_the_interval_is_tight_or_the_cap_is_reached() -> None:
    tight, wide = [0.1] * 30, np.random.default_rng(1).normal(0, 0.3, 30).tolist()

    def enough(ratios: list[float]) -> bool:
        return timing.enough(ratios, min_pairs=10, max_pairs=30, half_width=0.02)

    assert [n for n in range(31) if enough(tight[:n])] == list(range(10, 31)), "it never looks before ten pairs"
    assert [n for n in range(31) if enough(wide[:n])] == [30]


def test_the_rule_never_looks_where_no_interval_exists() -> None:
    for n in range(6):
        assert not timing.enough([0.1] * n, min_pairs=1, max_pairs=30, half_width=0.02)
    assert timing.enough([0.1] * 6, min_pairs=1, max_pairs=30, half_width=0.02)
    assert timing.enough([0.1] * 3, min_pairs=1, max_pairs=3, half_width=0.02), "the cap comes first"


def test_the_half_width_that_ends_sampling_is_relative_to_the_estimate() -> None:
    # Six pairs span 4 .. 4.4: half-width 0.2 over an estimate of sqrt(4 x 4.4) = 4.195 is 4.8 %.
    ends = [math.log(4.0)] * 3 + [math.log(4.4)] * 3
    assert timing.speedup(ends).relative_half_width == pytest.approx(0.2 / math.sqrt(17.6))
    assert not timing.enough(ends, min_pairs=6, max_pairs=30, half_width=0.047)
    assert timing.enough(ends, min_pairs=6, max_pairs=30, half_width=0.048)


@pytest.mark.parametrize(
    ("low", "high", "threshold", "expected"),
    [
        (1.03, 1.20, 1.02, TimingVerdict.FASTER),
        (1.02, 1.20, 1.02, TimingVerdict.UNCLEAR),  # not above the threshold
        (1.01, 1.20, 1.02, TimingVerdict.UNCLEAR),  # above 1 is not enough
        (0.80, 0.98, 1.02, TimingVerdict.SLOWER),  # 1 / 1.02 = 0.9804
        (0.80, 0.99, 1.02, TimingVerdict.UNCLEAR),
        (0.99, 1.01, 1.02, TimingVerdict.SAME),
        (0.97, 1.01, 1.02, TimingVerdict.UNCLEAR),
        (0.70, 1.40, 1.02, TimingVerdict.UNCLEAR),
        (1.03, 1.20, 1.10, TimingVerdict.UNCLEAR),
        (0.95, 1.05, 1.10, TimingVerdict.SAME),
        (1.001, 1.01, 1.00, TimingVerdict.FASTER),
        (0.90, 0.999, 1.00, TimingVerdict.SLOWER),
    ],
)
def test_verdict(low: float, high: float, threshold: float, expected: TimingVerdict) -> None:
    assert timing.verdict(Interval((low * high) ** 0.5, low, high, 0.95, 10, ""), threshold) is expected


def test_three_processes_by_hand() -> None:
    # Logs -0.1, 0, 0.1: mean 0, sd 0.1; t(0.975, 2) = 0.95 / sqrt(2 x 0.975 x 0.025), the closed form for 2 degrees.
    half = 0.95 / math.sqrt(2 * 0.975 * 0.025) * 0.1 / math.sqrt(3)
    interval = timing.pooled_speedup([math.exp(-0.1), 1.0, math.exp(0.1)])
    assert logs(interval) == pytest.approx((-half, 0.0, half), abs=1e-9)
    assert half == pytest.approx(0.2484, abs=1e-4), "wide, and honestly so"
    assert interval.n == 3


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_processes_are_pooled_by_a_t_interval_on_logs(level: float) -> None:
    values = [5.88, 5.97, 6.21, 6.02]
    own = np.log(values)
    low, high = stats.t.interval(level, 3, loc=own.mean(), scale=stats.sem(own))
    interval = timing.pooled_speedup(values, level)
    assert logs(interval) == pytest.approx((low, own.mean(), high))
    assert interval.level == level


def test_one_process_cannot_be_pooled() -> None:
    with pytest.raises(ValueError, match="at least 2 processes, but got 1"):
        timing.pooled_speedup([2.0])


def around(estimate: float, half: float) -> Interval:
    """An interval of this relative half-width on the log scale."""
    return Interval(estimate, estimate / math.exp(half), estimate * math.exp(half), 0.95, 10, "made up")


def test_processes_that_agree_by_chance_better_than_they_were_measured_prove_nothing() -> None:
    """Each is known to 6 %, so three to 3.5 %; that they agree to a per mille is chance."""
    found = [around(1.030, 0.06), around(1.031, 0.06), around(1.030, 0.06)]
    pooled = timing.pooled_speedup([interval.estimate for interval in found])
    assert timing.verdict(pooled) is TimingVerdict.FASTER, "what the t interval alone would say"
    assert timing.verdict_over_processes(found) is TimingVerdict.UNCLEAR


def test_processes_that_agree_and_were_measured_well_are_believed() -> None:
    assert timing.verdict_over_processes([around(1.10, 0.01)] * 2 + [around(1.11, 0.01)]) is TimingVerdict.FASTER
    assert timing.verdict_over_processes([around(0.90, 0.01)] * 2 + [around(0.91, 0.01)]) is TimingVerdict.SLOWER
    assert timing.verdict_over_processes([around(1.000, 0.01)] * 2 + [around(1.001, 0.01)]) is TimingVerdict.SAME


def test_processes_that_differ_are_judged_by_how_they_differ() -> None:
    assert timing.verdict_over_processes([around(1.05, 0.01), around(1.2, 0.01), around(1.4, 0.01)]) is (
        TimingVerdict.UNCLEAR
    )


def test_one_process_alone_is_judged_as_it_is() -> None:
    assert timing.verdict_over_processes([around(1.10, 0.05)]) is TimingVerdict.FASTER
    assert timing.verdict_over_processes([around(1.10, 0.09)]) is TimingVerdict.UNCLEAR


def test_a_threshold_of_ones_own_is_kept_over_processes() -> None:
    found = [around(1.10, 0.01)] * 2 + [around(1.11, 0.01)]
    assert timing.verdict_over_processes(found, 1.2) is TimingVerdict.SAME
