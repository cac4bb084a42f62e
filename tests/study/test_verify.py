"""What a batch that loses accuracy changes: its like is out of the running, and smaller batches are looked at again."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.config.search import Sampler
from autotune.record import events as ev
from autotune.trial import Stage, TrialState, Xla
from tests.study.fake_executor import BF16, FakeStudy, World, config_of, usual_speed

TRIALS, AGAIN = 10, 4
SAFE = 64


def searched(folder, world: World, **search: Any) -> FakeStudy:
    """Five batches up to 512, of which ten candidates are measured before any is trained."""
    return FakeStudy(folder, config_of(**({"trials": TRIALS, "max_batch_factor": 16} | search)), world).run()


def loses_above(batch: int) -> World:
    return World(loss=lambda c: 0.05 if c.batch_size > batch else 0.0)


@pytest.mark.parametrize("safe", [64, 128, 256])
def test_the_best_below_a_batch_that_loses_is_found(tmp_path, safe):
    study = searched(tmp_path, loses_above(safe))
    winner = study.view.winner.candidate
    assert (winner.policy, winner.batch_size, winner.xla) == (BF16, safe, Xla.ON)
    notes = study.notes("screen")
    assert notes
    assert all(note.endswith("lost accuracy: what may be the fastest below it is measured") for note in notes)
    numbers = [event.trial for event in study.of_kind(ev.Probed, Stage.SCREEN)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) <= TRIALS + AGAIN * len(notes)
    assert len(set(study.screened())) == len(numbers), "none twice"


def test_nothing_is_measured_again_where_the_first_choice_holds(tmp_path):
    study = searched(tmp_path, World())
    assert study.notes("screen") == []
    assert len(study.screened()) <= TRIALS


def test_what_16_bit_loses_at_the_users_own_batch_is_not_the_batchs_fault(tmp_path):
    study = searched(tmp_path, World(loss=lambda c: 0.0 if c.policy.is_float32 else 0.05), batch_sizes=[32])
    assert any(trial.state is TrialState.REJECTED for trial in study.view.trials.values())
    assert study.notes("screen") == []


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
    assert study.notes("screen") == ["batch 512 lost accuracy: what may be the fastest below it is measured"]
