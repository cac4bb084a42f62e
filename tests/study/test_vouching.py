"""Candidates that differ in steps_per_execution alone train identically: one's gate speaks for the other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.search import Verify
from autotune.config.train import CallbackConfig
from autotune.record import events as ev
from autotune.study.vouching import trained_twin
from autotune.trial import Candidate, Probe, Stage, TrialState, Xla
from tests.study.fake_executor import BF16, F32, WIDTHS, FakeStudy, World, config_of

ONE, EIGHT = (Candidate(BF16, 64, Xla.OFF, WIDTHS, steps) for steps in (1, 8))
OTHERS = [
    replace(ONE, xla=Xla.ON),
    replace(ONE, policy=F32),
    replace(ONE, batch_size=32),
    replace(ONE, widths=(128, 64)),
    replace(ONE, steps_per_execution=7),  # no divisor of the 32 steps of an epoch
]


def config(**search):
    """Two candidates that train identically, and nothing else."""
    return config_of(policies=["mixed_bfloat16"], batch_sizes=[64], xla=[False], align_widths=False, **search)


def world(**truth) -> World:
    """The one with eight steps is the faster by more than a tie; what is seen on a seed depends on the training."""
    speed = {1: 1.5, 8: 2.0}
    return World(speed=lambda c: 1.0 if c.xla is Xla.AUTO else speed[c.steps_per_execution], **truth)


def judged(study: FakeStudy, candidate: Candidate):
    return next(trial for trial in study.view.trials.values() if trial.candidate == candidate)


def test_a_twin_of_one_that_was_rejected_is_rejected_without_training(tmp_path):
    # Each seed loses 0.9 margins: too much for the gate, too little to stop after one seed.
    study = FakeStudy(tmp_path, config(), world(loss=lambda _: 0.009, noise=lambda *_: 0.0)).run()
    first, second = judged(study, EIGHT), judged(study, ONE)
    assert (first.state, second.state) == (TrialState.REJECTED, TrialState.REJECTED)
    assert (first.vouched_by, second.vouched_by) == (None, first.number)
    assert Stage.VERIFY not in second.runs
    assert second.reason == (
        f"trial {first.number} trains identically (steps_per_execution alone differs) and vouches for it:"
        f" {first.reason}"
    )
    assert second.accuracy == first.accuracy


def slow_when_confirmed(request, worker):
    """In fresh processes the one with eight steps is no faster than the baseline."""
    slow = request.stage is Stage.CONFIRM and request.candidate == EIGHT
    return [2.5 if slow else 1.0] * 12, [1.0] * 12


def test_a_twin_of_one_that_passed_is_confirmed_on_trainings_of_its_own(tmp_path):
    study = FakeStudy(tmp_path, config(), world(factors=slow_when_confirmed)).run()
    first, second = judged(study, EIGHT), judged(study, ONE)
    assert (first.state, second.state) == (TrialState.PASSED, TrialState.PASSED)
    assert second.vouched_by == first.number
    assert Stage.VERIFY not in second.runs
    assert len(second.runs[Stage.CONFIRM]) >= 3
    assert study.view.winner.candidate == ONE
    assert study.view.winner.confirmation.accuracy.delta.method == "paired t over seeds, spread over 5"


def test_a_twin_of_one_whose_accuracy_was_not_confirmed_is_not_tried_again(tmp_path):
    def on_new_seeds(candidate, seed):
        return -0.03 if seed >= 1000 and candidate.xla is not Xla.AUTO else 0.0

    study = FakeStudy(tmp_path, config(), world(noise=on_new_seeds)).run()
    first, second = judged(study, EIGHT), judged(study, ONE)
    assert first.confirmation.accuracy.verdict.value == "FAIL"
    assert second.state is TrialState.SKIPPED
    assert second.confirmation is None
    assert second.reason.endswith(
        f"trial {first.number} trains identically (steps_per_execution alone differs), and its"
        " accuracy was FAIL on new seeds"
    )


def test_a_leader_whose_twin_went_first_and_was_not_confirmed_takes_no_finalists_place(tmp_path):
    """Head to head the one with eight steps is the faster, so it is confirmed before the one that was trained."""

    def altered(request, result):
        seen = {ONE: 1.60, EIGHT: 1.55}
        if not isinstance(result, Probe) or request.stage is not Stage.SCREEN or request.candidate not in seen:
            return result
        centre = 4.0 / seen[request.candidate]
        wide = tuple(centre * (1.06 if n % 2 else 0.94) for n in range(12))
        return replace(result, block_step_ms=wide, baseline_step_ms=(2.0,) * 12)

    def on_new_seeds(candidate, seed):
        return -0.03 if seed >= 1000 and candidate.policy == BF16 else 0.0

    speed = {(BF16, 1): 1.5, (BF16, 8): 1.65, (F32, 1): 1.2, (F32, 8): 1.0}

    def speed_of(c):
        return 1.0 if c.xla is Xla.AUTO else speed[c.policy, c.steps_per_execution] if c.batch_size == 64 else 0.5

    asked = config_of(policies=["float32", "mixed_bfloat16"], batch_sizes=[64], xla=[False], align_widths=False)
    study = FakeStudy(tmp_path, asked, World(speed=speed_of, altered=altered, noise=on_new_seeds)).run()
    first, second = judged(study, EIGHT), judged(study, ONE)
    assert first.confirmation.accuracy.verdict.value == "FAIL"
    assert second.state is TrialState.SKIPPED
    assert len(second.runs[Stage.VERIFY]) == 2
    assert second.confirmation is None
    assert second.reason.startswith(f"not confirmed: trial {first.number} trains identically")
    assert study.view.winner.candidate == replace(ONE, policy=F32)


def test_with_verify_all_each_is_trained(tmp_path):
    study = FakeStudy(tmp_path, config(verify=Verify.all), world()).run()
    assert all(len(judged(study, candidate).runs[Stage.VERIFY]) == 2 for candidate in (ONE, EIGHT))


def test_a_callback_that_may_count_executions_makes_each_train_for_itself(tmp_path):
    asked = config()
    asked.train.callbacks = [CallbackConfig("keras.callbacks.TerminateOnNaN")]
    study = FakeStudy(tmp_path, asked, world(loss=lambda _: 0.009, noise=lambda *_: 0.0)).run()
    assert all(len(judged(study, candidate).runs[Stage.VERIFY]) == 2 for candidate in (ONE, EIGHT))


@pytest.fixture(scope="module")
def passed(tmp_path_factory) -> FakeStudy:
    return FakeStudy(tmp_path_factory.mktemp("passed"), config(), world()).run()


def test_whatever_else_differs_is_not_vouched_for(passed):
    trial = judged(passed, ONE)
    assert trained_twin(passed.context, trial).candidate == EIGHT
    for other in OTHERS:
        assert trained_twin(passed.context, replace(trial, candidate=other)) is None, other


def test_one_that_made_fewer_updates_vouches_for_nobody(passed):
    trial, twin = judged(passed, ONE), passed.context.view.trials[judged(passed, EIGHT).number]
    whole = twin.runs[Stage.VERIFY]
    twin.runs[Stage.VERIFY] = [replace(whole[0], iterations=whole[0].iterations - 1), *whole[1:]]
    try:
        assert trained_twin(passed.context, trial) is None
    finally:
        twin.runs[Stage.VERIFY] = whole


def test_it_is_in_the_record_and_a_resumed_study_decides_the_same(tmp_path):
    def run() -> FakeStudy:
        return FakeStudy(tmp_path, config(), world(factors=slow_when_confirmed)).run()

    first = run()
    [event] = [e for e in first.of_kind(ev.TrialJudged) if e.vouched_by is not None]
    assert event.vouched_by == judged(first, EIGHT).number
    again = run()
    assert again.executor.requests == []
    assert again.view.decided.winner == first.view.decided.winner
