from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.schema import Config
from autotune.decide.timing import FEWEST_PAIRS_OUT
from autotune.errors import TrialFault
from autotune.space.recipe import Fidelity, recipe_for
from autotune.trial import Candidate, EarlyStop, Failure, FailureKind, Policy, Probe, Recipe, Stage, Xla
from tests.benchmarks.search import made_up
from tests.benchmarks.search.landscape import Landscape, Timing
from tests.benchmarks.search.made_up import BASELINE
from tests.benchmarks.search.prices import Prices
from tests.benchmarks.search.served import Clock, NotRecordedError, ServedExecutor

FAST = Candidate(Policy("mixed_bfloat16"), 64, Xla.OFF, BASELINE.widths, 8)
SLOW = replace(FAST, xla=Xla.ON, steps_per_execution=1)


def recipe_of(candidate: Candidate, evaluations: int = 2) -> Recipe:
    config = Config()
    return recipe_for(config.train, candidate, Fidelity(1024, 6), evaluations=evaluations)


class Served:
    """A landscape that is served to nobody but a test."""

    def __init__(self, landscape: Landscape, seed: int = 0) -> None:
        self.clock, self.prices = Clock(), Prices(landscape)
        self.executor = ServedExecutor(landscape, self.prices, Config(), self.clock, seed)

    def probe(self, candidate: Candidate, stage: Stage = Stage.SCREEN, beside: Candidate | None = BASELINE) -> Probe:
        reference = None if beside is None else (beside, recipe_of(beside))
        return self.executor.probe(candidate, recipe_of(candidate), reference, stage)

    def metric(self, candidate: Candidate, seed: int) -> float:
        metric = self.executor.train(candidate, seed, recipe_of(candidate)).metric
        assert metric is not None
        return metric

    def took_s(self) -> float:
        """Since it was asked last [s]."""
        took_s, self.clock.now_s = self.clock.now_s, 0.0
        return took_s


def ratios(probe: Probe) -> list[float]:
    return [base / own for own, base in zip(probe.block_step_ms, probe.baseline_step_ms, strict=True)]


def test_what_is_served_was_recorded_in_one_process() -> None:
    landscape = made_up.landscape()
    served = Served(landscape)
    first = ratios(served.probe(FAST))
    served.executor.replace()
    second = ratios(served.probe(FAST))

    recorded = [timing.ratios for timing in landscape.timings[FAST]]
    for found in (first, second):
        of = [all(any(one == pytest.approx(ratio) for ratio in turn) for one in found) for turn in recorded]
        assert sum(of) == 1
    assert not {round(one, 9) for one in first} & {round(one, 9) for one in second}


def test_neighbours_stay_neighbours() -> None:
    landscape = made_up.landscape()
    found = ratios(Served(landscape).probe(FAST))
    turn = next(
        one.ratios
        for one in landscape.timings[FAST]
        if found[0] == pytest.approx(min(one.ratios, key=lambda r: abs(r - found[0])))
    )
    first = min(range(len(turn)), key=lambda index: abs(turn[index] - found[0]))

    assert found[:5] == pytest.approx([turn[(first + step) % len(turn)] for step in range(5)])


def test_the_products_own_rule_says_how_many_pairs_there_are() -> None:
    quiet, noisy = (Served(made_up.landscape(noise)) for noise in (0.001, 0.3))
    timing = Config().search.timing

    assert len(quiet.probe(FAST).block_step_ms) == timing.min_pairs
    assert len(noisy.probe(FAST).block_step_ms) > timing.min_pairs
    assert len(noisy.probe(FAST, Stage.CONFIRM).block_step_ms) == timing.max_pairs


def test_the_speedup_that_is_served_is_the_landscapes() -> None:
    landscape = made_up.landscape(noise=0.001)
    probe = Served(landscape).probe(FAST)

    measured = probe.candidate.batch_size / BASELINE.batch_size * sorted(ratios(probe))[5]
    assert measured == pytest.approx(landscape.speedup(FAST), rel=0.01)
    against = Served(landscape).probe(FAST, Stage.VERIFY, SLOW)
    assert sorted(ratios(against))[5] == pytest.approx(landscape.speedup(FAST) / landscape.speedup(SLOW), rel=0.01)


def test_a_study_of_the_same_seed_is_served_alike_and_one_of_another_is_not() -> None:
    landscape = made_up.landscape()
    one, same, other = Served(landscape, 3), Served(landscape, 3), Served(landscape, 4)

    assert one.probe(FAST) == same.probe(FAST) != other.probe(FAST)
    assert one.probe(FAST) != one.probe(SLOW)


def test_pairs_of_trainings_stay_pairs_and_each_seed_is_another() -> None:
    landscape = made_up.landscape()
    served, seeds = Served(landscape), (0, 1, 2, 1000, 1001, 1002)
    pairs = [(served.metric(BASELINE, seed), served.metric(FAST, seed)) for seed in seeds]

    base, fast = (landscape.trainings[landscape.trained(one)] for one in (BASELINE, FAST))
    recorded = {(base[seed].metric, fast[seed].metric) for seed in landscape.seeds}
    assert set(pairs) == recorded
    assert served.executor.seeds_again == 0


def test_seeds_beyond_those_recorded_are_served_again_and_counted() -> None:
    served = Served(made_up.landscape())
    found = [served.metric(BASELINE, seed) for seed in range(8)]

    assert found[6:] == found[:2]
    assert served.executor.seeds_again == 2
    assert served.executor.trainings == 8


def test_one_that_was_trained_on_few_seeds_keeps_its_losses_on_the_others() -> None:
    landscape = made_up.landscape()
    group = landscape.trained(SLOW)
    few = {seed: run for seed, run in landscape.trainings[group].items() if seed < 2}
    base = landscape.trainings[BASELINE]
    losses = {round(base[seed].metric - run.metric, 9) for seed, run in few.items()}  # type: ignore[operator]
    landscape.trainings[group] = few

    served = Served(landscape)
    for seed in landscape.seeds:
        assert round(served.metric(BASELINE, seed) - served.metric(SLOW, seed), 9) in losses


def test_each_request_moves_the_clock_by_its_price() -> None:
    landscape = made_up.landscape(noise=0.001)
    served = Served(landscape)
    prices = served.prices
    assert served.took_s() == prices.worker_s == 9.0

    block_s = Config().search.timing.block_s
    probe = served.probe(FAST)
    pair_s = prices.block_s(FAST, block_s) + prices.block_s(BASELINE, block_s)
    timed_s = len(probe.block_step_ms) * pair_s + prices.block_s(BASELINE, block_s)
    assert served.took_s() == pytest.approx(prices.making_s(BASELINE) + prices.making_s(FAST) + timed_s)

    served.probe(FAST)  # the reference is there already
    assert served.took_s() < prices.making_s(BASELINE) + prices.making_s(FAST) + timed_s

    served.executor.replace()
    assert served.took_s() == 0  # the next request begins the process
    run = served.executor.train(SLOW, 0, recipe_of(SLOW))
    assert served.took_s() == pytest.approx(prices.worker_s + prices.training_s(SLOW, run.recipe)[0])


def test_what_trains_alike_takes_its_own_time() -> None:
    prices = Prices(made_up.landscape(noise=0.001))
    single = replace(FAST, steps_per_execution=1)
    whole_s, train_s, _ = prices.training_s(FAST, recipe_of(FAST))
    single_whole_s, single_train_s, _ = prices.training_s(single, recipe_of(single))

    assert single_train_s / train_s == pytest.approx(1.1, rel=0.01)
    assert single_whole_s - single_train_s == pytest.approx(whole_s - train_s)


def test_fewer_evaluations_cost_less_and_tell_less() -> None:
    served = Served(made_up.landscape())
    few = served.executor.train(FAST, 0, recipe_of(FAST, 2))
    few_s = served.took_s() - served.prices.worker_s
    all_of_them = served.executor.train(FAST, 0, recipe_of(FAST, 6))

    assert served.took_s() - few_s == pytest.approx(4 * 0.5)  # three seconds beside the training, by six evaluations
    assert [point.metric is not None for point in few.curve] == [False, False, True, False, False, True]
    assert None not in [point.metric for point in all_of_them.curve]
    assert few.metric == all_of_them.metric == all_of_them.curve[-1].metric


def test_a_training_that_is_stopped_early_costs_what_it_took_until_then() -> None:
    served = Served(made_up.landscape())
    whole = served.executor.train(FAST, 0, recipe_of(FAST))
    whole_s = served.took_s() - served.prices.worker_s
    middle = whole.curve[2].metric
    assert middle is not None
    recipe, stop = recipe_of(FAST), EarlyStop(3, middle + 0.001)
    kept = served.executor.train(FAST, 0, recipe, stops=(EarlyStop(3, middle - 0.001),))
    assert kept.metric == whole.metric
    assert served.took_s() == pytest.approx(whole_s)
    stopped = served.executor.train(FAST, 0, recipe, stops=(stop,))

    assert (stopped.metric, stopped.stopped, len(stopped.curve)) == (None, stop, 3)
    assert stopped.iterations == recipe.total_steps // 2 == stopped.asked_steps
    assert served.took_s() == pytest.approx(whole_s - whole.train_s / 2 - 0.5)  # half the training, one evaluation


def test_a_hopeless_timing_is_given_up_early_and_said_to_be() -> None:
    served = Served(made_up.landscape(noise=0.03))
    reference = (BASELINE, recipe_of(BASELINE))
    found = [
        served.executor.probe(FAST, recipe_of(FAST), reference, Stage.CONFIRM, below) for below in (None, 1.0, 9.0)
    ]

    assert [one.hopeless_below for one in found] == [None, None, 9.0]
    pairs = [len(one.block_step_ms) for one in found]
    assert min(pairs[:2]) >= Config().search.timing.min_pairs > pairs[2] == FEWEST_PAIRS_OUT


def test_what_was_not_recorded_is_said() -> None:
    served = Served(made_up.landscape())
    unknown = replace(FAST, batch_size=96)

    with pytest.raises(NotRecordedError, match="batch=96"):
        served.probe(unknown)
    with pytest.raises(NotRecordedError, match="2,048 examples"):
        served.executor.train(FAST, 0, recipe_for(Config().train, FAST, Fidelity(2048, 6)))


def test_a_recorded_failure_is_one_again() -> None:
    landscape = made_up.landscape()
    failed = Failure(FailureKind.COMPILE, "made up")
    landscape.timings[SLOW] = [Timing(SLOW, turn, 1, 0.0, wall_s=2.0, failure=failed) for turn in range(2)]

    with pytest.raises(TrialFault, match="made up") as fault:
        Served(landscape).probe(SLOW)
    assert fault.value.kind == FailureKind.COMPILE
