"""What an accuracy that is lost changes: who is like the loser is out of the running, and others are looked at."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.config.search import Sampler
from autotune.record import events as ev
from autotune.trial import Stage, TrialState, Xla
from tests.study.fake_executor import BF16, F32, FakeStudy, World, config_of, usual_speed

TRIALS, AGAIN = 10, 4
SIZES = (32, 64, 128, 256, 512)
SAFE = 64


def searched(folder, world: World, **search: Any) -> FakeStudy:
    """Five batches up to 512, and ten trials for their candidates."""
    return FakeStudy(folder, config_of(**({"trials": TRIALS, "max_batch_factor": 16} | search)), world).run()


def loses_above(batch: int) -> World:
    return World(loss=lambda c: 0.05 if c.batch_size > batch else 0.0)


@pytest.mark.parametrize("safe", [64, 128, 256])
def test_the_best_below_batches_that_lose_is_found_with_few_trials_above(tmp_path, safe):
    study = searched(tmp_path, loses_above(safe))
    winner = study.view.winner.candidate
    assert (winner.policy, winner.batch_size, winner.xla) == (BF16, safe, Xla.ON)
    numbers = [event.trial for event in study.of_kind(ev.Probed, Stage.SCREEN)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(set(study.screened())) == len(numbers) <= TRIALS + AGAIN, "none twice"
    above = [one for one in study.screened() if one.batch_size > safe]
    assert len(above) <= 2 * (SIZES.index(512) - SIZES.index(safe)), "each batch is tried in each policy at most"


def test_a_large_batch_is_trained_before_others_like_it_are_measured(tmp_path):
    """On one seed, while screening; what it loses is known before trial after trial goes to its like."""
    study = searched(tmp_path, loses_above(SAFE))
    first = next(event for event in study.of_kind(ev.Trained, Stage.VERIFY))
    assert (first.run.recipe.batch_size, first.run.seed) == (512, 0)
    later = study.events[study.events.index(first) :]
    screened = [event for event in later if isinstance(event, ev.Probed) and event.stage is Stage.SCREEN]
    assert len(screened) > 3, "screening goes on after it"
    assert [one.batch_size for one in study.screened()].count(512) <= 2


def test_one_seed_of_a_large_batch_is_no_verdict_and_is_not_trained_twice(tmp_path):
    study = searched(tmp_path, World())
    winner = study.view.winner.number
    assert study.view.winner.candidate.batch_size == 512
    for number in study.view.trials:
        seeds = [seed for trial, seed in study.trained(Stage.VERIFY) if trial == number]
        assert len(seeds) == len(set(seeds))
        assert not seeds or number == winner or seeds == [0]
    assert study.notes("screen") == []
    assert len(study.screened()) <= TRIALS


def test_where_16_bit_loses_float32_is_looked_at_at_every_batch(tmp_path):
    """One float32 candidate that keeps its accuracy tells that not the batch is to blame."""
    study = searched(tmp_path, World(loss=lambda c: 0.0 if c.policy.is_float32 else 0.05))
    winner = study.view.winner.candidate
    assert (winner.policy, winner.batch_size) == (F32, 512)


def test_what_float32_loses_at_the_users_own_batch_takes_nothing_else_out_of_the_running(tmp_path):
    """Neither a batch nor 16 bit is to blame: something else, such as XLA."""
    world = World(loss=lambda c: 0.05 if c.xla is Xla.ON else 0.0)
    view = searched(tmp_path, world, batch_sizes=[32], policies=["float32"]).view
    assert any(trial.state is TrialState.REJECTED for trial in view.trials.values())
    assert (view.winner.candidate.xla, view.winner.candidate.steps_per_execution) == (Xla.OFF, 8)


def test_a_sampler_that_was_asked_for_by_name_has_its_trials_and_no_more(tmp_path):
    study = searched(tmp_path, loses_above(SAFE), sampler=Sampler.tpe)
    assert study.notes("screen") == []
    assert len(study.screened()) == TRIALS


def test_what_is_found_has_to_be_faster_than_the_baseline(tmp_path):
    world = loses_above(SAFE)
    world.speed = lambda c: usual_speed(c) if c.batch_size > SAFE or c.xla is Xla.AUTO else 0.9
    study = searched(tmp_path, world)
    assert study.view.decided.winner == ev.BASELINE_TRIAL
    small = [t for t in study.view.trials.values() if not t.is_baseline and t.candidate.batch_size <= SAFE]
    assert {trial.state for trial in small} == {TrialState.SLOWER}


def test_a_finalist_that_loses_on_new_seeds_takes_its_like_out_of_the_running(tmp_path):
    """The gate's two seeds saw nothing of it, for any candidate at batch 512."""
    world = World(noise=lambda c, seed: -0.05 - 1e-4 * (seed % 3) if c.batch_size > 256 and seed >= 1000 else 0.0)
    study = searched(tmp_path, world)
    first, second = study.view.confirmations
    assert (first.candidate.batch_size, second.candidate.batch_size) == (512, 256)
    assert second.succeeded
    assert study.notes("screen") == [f"trial {first.trial} lost accuracy: what else may be the fastest is measured"]
