"""What an accuracy that is lost changes: who is like the loser is out of the running, and others are looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from autotune.config.search import Sampler
from autotune.record import events as ev
from autotune.study.budget import Budget
from autotune.study.screen import Screening
from autotune.trial import AccuracyVerdict, Candidate, FailureKind, Stage, TrialState, Xla
from tests.study.fake_executor import BF16, F16, F32, WIDTHS, FakeStudy, World, config_of, fault, usual_speed

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


def confirms_badly(request):
    bad = request.operation == "train" and request.candidate.policy == BF16 and request.seed >= 1000
    return fault(FailureKind.CRASH) if bad else None


@pytest.mark.parametrize(
    "world",
    [
        World(fault=confirms_badly),
        World(noise=lambda c, seed: -0.004 * (1 + seed % 3) if c.policy == BF16 and seed >= 1000 else 0.0),
    ],
    ids=["fails", "inconclusive"],
)
def test_a_finalist_that_is_not_confirmed_is_no_measure_of_what_is_worth_a_trial(tmp_path, world):
    """The gate's two seeds saw nothing of it, for any candidate in bfloat16."""
    study = searched(tmp_path, world, finalists=4)
    assert study.view.confirmations[0].candidate.policy == BF16
    winner = study.view.winner.candidate
    assert (winner.policy, winner.batch_size, winner.xla) == (F32, 512, Xla.ON)


def trains_to_nan(request):
    bad = request.operation == "train" and request.candidate.policy == BF16
    return fault(FailureKind.NAN) if bad else None


@pytest.mark.parametrize(
    "world",
    [
        World(fault=trains_to_nan),
        *(World(loss=lambda c, by=by: by if c.policy == BF16 else 0.0) for by in (0.009, 0.05)),
    ],
    ids=["not finite", "by less than the margin", "clearly"],
)
def test_what_is_refused_is_no_measure_of_what_is_worth_a_trial(tmp_path, world):
    """The fastest of all are in bfloat16, and none of them can be used; float32 can at every batch."""
    study = searched(tmp_path, world)
    winner = study.view.winner.candidate
    assert (winner.policy, winner.batch_size, winner.xla) == (F32, 512, Xla.ON)


@pytest.mark.parametrize("safe", [128, 256])
def test_16_bit_that_loses_at_every_batch_hides_nothing_of_float32(tmp_path, safe):
    """Float32 loses at 512, so that a batch was blamed for what bfloat16 loses below it."""
    world = World(loss=lambda c: 0.05 if c.policy == BF16 or c.batch_size > safe else 0.0)
    winner = searched(tmp_path, world).view.winner.candidate
    assert (winner.policy, winner.batch_size) == (F32, safe)


def test_what_is_ruled_out_by_accuracy_is_told(tmp_path):
    study = searched(tmp_path, World(loss=lambda c: 0.05 if c.policy == BF16 else 0.0))
    told = study.notes("ruled_out")
    assert any("which lost more than the margin" in note for note in told)
    assert len(told) == len(set(told))


def test_what_was_screened_for_one_that_was_refused_is_challenged_too(tmp_path):
    """float16 wins against bfloat16 at the same batch, is refused, and a larger batch is found in its place."""

    def speed(candidate):
        if (candidate.policy, candidate.batch_size) == (F16, 64):
            return 1.04 * usual_speed(replace(candidate, policy=BF16))
        return usual_speed(candidate)

    world = World(speed=speed, loss=lambda c: 0.05 if c.policy == F16 else 0.0)
    world.factors = lambda request, worker: ([1.0] * 12, [0.95, 1.05] * 6)  # so wide that screening cannot tell
    policies = ["float32", "mixed_bfloat16", "mixed_float16"]
    view = searched(tmp_path, world, trials=5, policies=policies).view
    best = max(t.speedup.estimate for t in view.trials.values() if t.speedup and t.candidate.policy != F16)
    assert best > 4
    assert view.winner.speedup.estimate > 0.97 * best


def test_16_bit_that_loses_at_the_users_own_batch_is_no_reason_to_put_float32_off(tmp_path):
    """XLA is faster by 4 %, which only a comparison of the two tells."""
    speeds = {
        Candidate(F16, 32, Xla.OFF, WIDTHS): 2.2,
        Candidate(F32, 64, Xla.OFF, WIDTHS): 2.0,
        Candidate(F32, 64, Xla.ON, WIDTHS): 2.08,
    }
    world = World(speed=lambda c: 1.0 if c.xla is Xla.AUTO else speeds.get(c, 0.5))
    world.loss = lambda c: 0.05 if c.policy == F16 else 0.0
    world.factors = lambda request, worker: ([1.0] * 12, [0.95, 1.05] * 6)
    policies = ["float32", "mixed_float16"]
    study = FakeStudy(tmp_path, config_of(policies=policies, max_batch_factor=2, steps_per_execution=[1]), world).run()
    assert study.of_kind(ev.FinalistsCompared)
    assert study.view.winner.candidate.xla is Xla.ON


def test_nobody_is_worth_less_than_a_finalist_that_was_refuted(tmp_path):
    """Both verdicts go to bfloat16, which loses on new seeds: float32 was never looked at, and that is told."""
    world = World(noise=lambda c, seed: -0.05 - 1e-4 * (seed % 3) if c.policy == BF16 and seed >= 1000 else 0.0)
    world.speed = lambda c: usual_speed(c) if c.policy == BF16 or c.xla is Xla.AUTO else min(1.5, usual_speed(c))
    view = searched(tmp_path, world, finalists=2, sampler=Sampler.grid, trials=30, max_batch_factor=4).view
    assert [c.accuracy.verdict for c in view.confirmations] == [AccuracyVerdict.FAIL] * 2
    untrained = [t for t in view.trials.values() if t.candidate.policy == F32 and t.gain and t.gain.estimate > 1.02]
    assert untrained
    assert {t.state for t in untrained if not t.is_baseline} == {TrialState.SKIPPED}
    assert all("search.finalists=2 verdicts were looked at" in t.reason for t in untrained)


def test_what_the_budget_left_unmeasured_is_measured_once_others_are_refused(tmp_path, monkeypatch):
    late = Screening._is_late
    monkeypatch.setattr(Screening, "_is_late", lambda self: self._number >= 5 or late(self))
    study = searched(tmp_path, World(loss=lambda c: 0.05 if c.policy == BF16 else 0.0))
    winner = study.view.winner.candidate
    assert (winner.policy, winner.batch_size, winner.xla) == (F32, 512, Xla.ON)


KINDS = pytest.mark.parametrize("kind", [FailureKind.OOM, FailureKind.TIMEOUT, FailureKind.CRASH])


@KINDS
def test_trainings_that_fail_by_their_batch_ask_for_no_more_candidates_than_there_are_trials(tmp_path, kind):
    world = World(fault=lambda r: fault(kind) if r.operation == "train" and r.candidate.batch_size > SAFE else None)
    study = searched(tmp_path, world)
    assert len(study.screened()) <= 2 * TRIALS
    assert study.view.winner.candidate.batch_size == SAFE


@KINDS
def test_trainings_that_fail_by_their_policy_are_no_measure_of_what_is_worth_a_trial(tmp_path, kind):
    """Each is fast where it is timed; float32 trains at every batch."""
    world = World(fault=lambda r: fault(kind) if r.operation == "train" and r.candidate.policy == BF16 else None)
    study = searched(tmp_path, world)
    winner = study.view.winner.candidate
    assert (winner.policy, winner.batch_size, winner.xla) == (F32, 512, Xla.ON)
    failed = [one for one in study.view.trials.values() if one.failure is not None]
    assert 1 < len(failed) <= TRIALS


def shows_on_the_second_seed(of: Callable[[Candidate], bool]) -> World:
    """Such candidates lose two margins on every other seed, and nothing on the first."""
    return World(noise=lambda c, seed: -0.02 if seed % 2 and c.xla is not Xla.AUTO and of(c) else 0.0)


def near_misses() -> list[World]:
    return [
        World(loss=lambda c: 0.0082 if c.batch_size > SAFE else 0.0),
        shows_on_the_second_seed(lambda c: c.batch_size > SAFE),
    ]


def test_a_large_batch_below_the_gate_on_one_seed_is_trained_on_the_others_before_its_like_is_measured(tmp_path):
    study = searched(tmp_path, near_misses()[0])
    first, second = study.of_kind(ev.Trained, Stage.VERIFY)[:2]
    assert (first.trial, first.run.seed, second.run.seed) == (second.trial, 0, 1)
    assert study.view.trials[first.trial].state is TrialState.REJECTED
    known = study.events.index(second)
    assert any(isinstance(event, ev.Probed) and event.stage is Stage.SCREEN for event in study.events[known:])


@pytest.mark.parametrize("world", near_misses(), ids=["on each seed", "on the second seed"])
def test_near_misses_ask_for_no_more_candidates_than_there_are_trials(tmp_path, world):
    study = searched(tmp_path, world)
    assert TRIALS < len(study.screened()) <= 2 * TRIALS
    assert study.view.winner.candidate.batch_size == SAFE


def test_that_no_budget_is_left_to_look_elsewhere_is_told(tmp_path, monkeypatch):
    """From the first candidate that is refused on; there are others, of which nobody knows anything."""
    world = shows_on_the_second_seed(lambda c: c.policy == BF16)
    study = FakeStudy(tmp_path, config_of(trials=TRIALS, max_batch_factor=16), world)
    allows = Budget.allows

    def until_one_is_refused(budget, *costs):
        refused = any(trial.state is TrialState.REJECTED for trial in study.context.view.trials.values())
        return not refused and allows(budget, *costs)

    monkeypatch.setattr(Budget, "allows", until_one_is_refused)
    view = study.run().view
    first = next(trial.number for trial in view.trials.values() if trial.state is TrialState.REJECTED)
    text = "was refused, and the budget has no room to measure what else may be the fastest"
    assert f"trial {first} {text}" in study.notes("budget")


def test_what_is_refused_by_the_verdict_of_a_twin_is_no_measure_either(tmp_path):
    study = searched(tmp_path, near_misses()[1])
    vouched = [t.number for t in study.view.trials.values() if t.vouched_by and t.state is TrialState.REJECTED]
    told = [f"trial {number} was refused: what else may be the fastest is measured" for number in vouched]
    assert set(told) & set(study.notes("screen"))
