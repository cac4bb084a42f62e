from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.trial import Candidate, Interval
from tests.benchmarks.search import compared, made_up, rivals
from tests.benchmarks.search.compared import Result
from tests.benchmarks.search.rivals import Rival, Trial
from tests.benchmarks.search.studies import Point, World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(made_up.landscape(noise=0.005), tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def two_seeds(world: World) -> list[Result]:
    return [compared.one_seed(world, seed) for seed in range(2)]


def settings(rival: Rival) -> list[Candidate]:
    return [trial.candidate for trial in rival.trials]


def test_grid_and_random_measure_the_whole_space_once(world: World) -> None:
    grid = rivals.search(world, 0, rivals.grid, 100)
    drawn = rivals.search(world, 0, rivals.at_random, 100)

    assert settings(grid) == list(grid.space.candidates())
    assert set(settings(drawn)) == set(settings(grid))
    assert len(settings(drawn)) == len(settings(grid))
    assert settings(drawn) != settings(grid)
    assert settings(drawn) != settings(rivals.search(world, 1, rivals.at_random, 100))


def test_greedy_changes_one_dimension_at_a_time_and_keeps_the_best(world: World) -> None:
    found = settings(rivals.search(world, 0, rivals.greedy, 100))

    told = [(one.policy.name, one.batch_size, one.xla.value, one.steps_per_execution) for one in found]
    assert told == [
        ("mixed_bfloat16", 32, "off", 1),
        ("mixed_bfloat16", 64, "off", 1),
        ("mixed_bfloat16", 128, "off", 1),  # faster, but it loses accuracy
        ("mixed_bfloat16", 256, "off", 1),
        ("mixed_bfloat16", 64, "on", 1),
        ("mixed_bfloat16", 64, "off", 8),
    ]


def test_tpe_may_measure_again_what_it_has_measured(world: World) -> None:
    rival = rivals.search(world, 0, rivals.tpe, 40)

    assert len(rival.trials) == 40
    assert len(set(settings(rival))) < 40
    assert all(later.ended_s > sooner.ended_s for sooner, later in itertools.pairwise(rival.trials))


def test_a_trial_is_timed_and_trained_on_the_gates_seeds_whatever_it_shows(world: World) -> None:
    rival = rivals.search(world, 0, rivals.grid, 100)

    assert {len(trial.runs) for trial in rival.trials} == {2}
    lost = [trial for trial in rival.trials if trial.candidate.batch_size > 64]
    assert lost
    assert not any(trial.passed for trial in lost)


def test_the_oracle_stops_where_the_incumbent_stays_near_the_best(world: World) -> None:
    rival = rivals.search(world, 0, rivals.grid, 1)
    best, other = world.landscape.best, replace(world.landscape.best, steps_per_execution=1)
    assert not world.is_near(other)

    def trial(candidate: Candidate, speedup: float, missed: float = -0.01) -> Trial:
        return Trial(candidate, None, Interval(speedup, speedup, speedup, 0.95, 10, ""), (), missed, 0.0, 0.0)

    rival.trials = [trial(other, 1.5), trial(best, 2.0), trial(other, 1.9), trial(other, 2.5, missed=0.01)]
    assert rivals.stopped(rival, world) == 1
    rival.trials.append(trial(other, 2.1))  # noise that puts another one first
    assert rivals.stopped(rival, world) == 4
    rival.trials.append(trial(best, 2.2))
    assert rivals.stopped(rival, world) == 5


def test_every_search_pays_for_baseline_and_confirmation(world: World, two_seeds: list[Result]) -> None:
    found = two_seeds[0]

    for name, outcome in found.outcomes.items():
        assert world.is_near(outcome.winner), name
        assert outcome.cost_s > found.floor.cost_s * 0.9, name
        assert outcome.trainings >= found.floor.trainings, name
    assert found.floor.winner == world.landscape.best
    assert found.floor.trainings == 3 + 2 * 3  # the baseline's, and three pairs on new seeds
    assert found.outcomes[compared.UNTIMED].cost_s < found.outcomes[compared.TPE].cost_s


def test_the_table_tells_shares_and_ratios(world: World, two_seeds: list[Result]) -> None:
    wrong = replace(world.landscape.best, batch_size=256, steps_per_execution=1)
    first, second = two_seeds
    answer = replace(first.outcomes[compared.OURS], winner=wrong, cost_s=2 * first.outcomes[compared.TPE].cost_s)
    found = [replace(first, outcomes={**first.outcomes, compared.OURS: answer}), second]

    table = {row.name: row for row in compared.rows(world, found)}
    assert table[compared.TPE].ratio == table[compared.TPE].ratio_90 == 1
    assert table[compared.PLANNED].planned == table[compared.PLANNED].planned_90 == 1
    assert table[compared.OURS].ratio_90 == 2
    assert (table[compared.OURS].near, table[compared.OURS].worse, table[compared.OURS].slower) == (0.5, 0.5, 0)
    for shares in compared.time_shares([second]):
        assert sum(shares.values()) == pytest.approx(1, abs=0.01)


def test_a_rival_that_never_comes_near_is_stopped_at_its_end(tmp_path: Path) -> None:
    world = World(made_up.landscape(noise=0.005), tmp_path)
    rival = rivals.search(world, 0, rivals.grid, 3)

    assert rivals.stopped(rival, world) == 2
    outcome, _ = rivals.finish(rival, world)
    assert not world.is_near(outcome.winner)


def test_a_planned_sweep_is_as_long_for_the_lucky_as_for_the_others(two_seeds: list[Result]) -> None:
    found = []
    for result, first in zip(two_seeds, (3, 8), strict=True):
        course = tuple(Point(10.0 * n, 3 + 2 * n, n >= first) for n in range(1, 41))
        tpe = replace(result.outcomes[compared.TPE], course=course, confirming_s=20.0, confirming=6)
        found.append(replace(result, outcomes={**result.outcomes, compared.TPE: tpe}))

    assert compared.planned_trials(found) == 8
    assert compared.planned_trials(found, share=0.5) == 3
    planned = [result.outcomes[compared.PLANNED] for result in compared.with_planned(found)]
    assert [one.cost_s for one in planned] == [100.0, 100.0]  # eight trials and the confirmation
    assert [one.trainings for one in planned] == [19 + 6, 19 + 6]
