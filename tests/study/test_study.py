"""Whole studies in a world whose truth is known; what is asserted is what the record says."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from autotune.config.constraint import Direction
from autotune.config.search import Sampler, Verify
from autotune.errors import UserError
from autotune.hardware.catalogue import bundled
from autotune.record import events as ev
from autotune.record.view import StudyView, TrialView
from autotune.study import propose
from autotune.study.baseline import BaselineUnusableError
from autotune.study.study import _why_no_finalist
from autotune.trial import Candidate, FailureKind, Probe, Products, Stage, TrialState, Xla
from tests.study import fake_executor
from tests.study.every_sampler import EVERY_SAMPLER
from tests.study.fake_executor import (
    BF16,
    F16,
    F32,
    WIDTHS,
    FakeStudy,
    World,
    config_of,
    effect_of,
    fault,
    usual_speed,
)


def states(view: StudyView) -> dict[int, TrialState | None]:
    return {number: trial.state for number, trial in view.trials.items() if number}


def number_of(view: StudyView, candidate: Candidate) -> int:
    return next(number for number, trial in view.trials.items() if trial.candidate == candidate)


def test_the_fastest_candidate_that_is_not_less_accurate_wins(tmp_path):
    study = FakeStudy(tmp_path, config_of()).run()
    view = study.view
    assert view.winner.candidate == Candidate(BF16, 128, Xla.ON, WIDTHS, 8)
    confirmed = view.winner.confirmation
    assert confirmed.succeeded
    assert confirmed.speedup.estimate == pytest.approx(usual_speed(view.winner.candidate), rel=0.01)
    assert view.decided.interrupted is None
    assert view.decided.reason.startswith(f"x{confirmed.speedup.estimate:.2f} the baseline's throughput")
    assert view.decided.duration_s == pytest.approx(study.context.clock() - 100.0, abs=0.001)


def test_a_faster_candidate_that_is_less_accurate_is_rejected(tmp_path):
    spoilt = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)
    view = FakeStudy(tmp_path, config_of(), World(loss=lambda c: 0.05 if c == spoilt else 0.0)).run().view
    trial = view.trials[number_of(view, spoilt)]
    assert trial.state is TrialState.REJECTED
    assert trial.speedup.estimate > view.winner.speedup.estimate
    assert view.winner.candidate != spoilt


def test_a_batch_that_clearly_loses_rules_out_its_like_and_the_next_batch_wins(tmp_path):
    study = FakeStudy(tmp_path, config_of(), World(loss=lambda c: 0.05 if c.batch_size == 128 else 0.0)).run()
    view = study.view
    assert view.winner.candidate == Candidate(BF16, 64, Xla.ON, WIDTHS, 8)
    tried = [t for t in view.trials.values() if t.candidate.batch_size == 128 and Stage.VERIFY in t.runs]
    assert [t.state for t in tried] == [TrialState.REJECTED] * len(tried)
    assert {t.candidate.policy for t in tried} <= {BF16, F32}
    # Of those at batch 128 the fastest was trained. Its like were not, and neither were, before another was confirmed,
    # those of the other policy: what a batch costs in accuracy hardly depends on the policy.
    assert len(tried) == 1
    alike = [t for t in view.trials.values() if t.candidate.batch_size == 128 and t.candidate.policy == BF16]
    skipped = [t for t in alike if t.state is TrialState.SKIPPED]
    assert len(skipped) == len(alike) - 1 == 3
    assert all(re.search(r"not trained: (trial \d+, of the same policy|put off since one)", t.reason) for t in skipped)


def test_one_that_was_put_off_and_might_be_faster_says_so(tmp_path):
    spoilt = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)
    wide = Candidate(F32, 128, Xla.ON, WIDTHS, 8)
    world = World(
        speed=lambda c: 3.0 if c == wide else usual_speed(c), loss=lambda c: 0.05 if c.batch_size == 128 else 0.0
    )
    view = FakeStudy(tmp_path, config_of(), world).run().view
    assert view.trials[number_of(view, spoilt)].state is TrialState.REJECTED
    put_off = view.trials[number_of(view, wide)]
    assert put_off.speedup.estimate > view.winner.speedup.estimate
    assert put_off.state is TrialState.SKIPPED
    assert put_off.reason == (
        "not trained: put off since one with no larger batch lost more than the margin, and trial"
        f" {view.winner.number} was confirmed"
    )


def test_a_candidate_that_cannot_make_up_for_its_first_seed_is_not_trained_on_the_second(tmp_path):
    spoilt = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)
    study = FakeStudy(tmp_path, config_of(), World(loss=lambda c: 0.05 if c == spoilt else 0.0)).run()
    number = number_of(study.view, spoilt)
    assert [seed for trial, seed in study.trained(Stage.VERIFY) if trial == number] == [0]
    assert study.view.trials[number].reason.startswith("stopped after 1 of 2 seeds at -")


def test_among_equally_fast_candidates_the_one_that_changes_least_wins(tmp_path):
    def exact(request, result):
        if not isinstance(result, Probe):
            return result
        return replace(
            result,
            block_step_ms=(result.block_step_ms[0],) * 12,
            baseline_step_ms=result.baseline_step_ms and (result.baseline_step_ms[0],) * 12,
        )

    config = config_of(batch_sizes=[32, 64], finalists=1)
    world = World(altered=exact, speed=lambda c: 1.0 if c.batch_size == 32 else 4.0)
    view = FakeStudy(tmp_path, config, world).run().view
    assert view.winner.candidate == Candidate(F32, 64, Xla.OFF, WIDTHS, 1)


def test_slower_ones_are_dominated_and_never_trained(tmp_path):
    study = FakeStudy(tmp_path, config_of(finalists=2)).run()
    view = study.view
    passed = {number for number, state in states(view).items() if state is TrialState.PASSED}
    dominated = {number for number, state in states(view).items() if state is TrialState.DOMINATED}
    assert len(passed) == 1, "the second finalist is trained only if the first is not confirmed"
    assert len(dominated) > 5
    assert {trial for trial, _ in study.trained(Stage.VERIFY)} == passed
    slowest = min(view.trials[number].speedup.estimate for number in passed)
    assert all(view.trials[number].speedup.estimate <= slowest * 1.02 for number in dominated)
    assert all("not faster than trial" in view.trials[number].reason for number in dominated)


def test_verify_all_trains_every_candidate_that_is_faster(tmp_path):
    study = FakeStudy(tmp_path, config_of(verify=Verify.all, finalists=1)).run()
    found = states(study.view)
    faster = {number for number, state in found.items() if state is not TrialState.SLOWER}
    assert len(faster) > 15
    assert set(found.values()) <= {TrialState.PASSED, TrialState.SLOWER}
    assert {trial for trial, _ in study.trained(Stage.VERIFY)} == faster
    assert len(study.view.confirmations) == 1, "only the finalists are confirmed"


def test_a_candidate_that_is_not_faster_is_never_trained(tmp_path):
    study = FakeStudy(tmp_path, config_of(), World(speed=lambda c: 1.0 if c.xla is Xla.AUTO else 0.9)).run()
    assert set(states(study.view).values()) == {TrialState.SLOWER}
    assert study.trained(Stage.VERIFY) == study.trained(Stage.CONFIRM) == []
    assert study.view.decided.winner == ev.BASELINE_TRIAL
    assert study.view.decided.reason == (
        "of 23 candidates none was shown to be both faster and as accurate: 23 not faster than the baseline"
    )


def test_when_nothing_passes_the_reason_counts_why(tmp_path):
    config = config_of(policies=["float32", "mixed_float16"], max_batch_factor=2, steps_per_execution=[1])
    world = World(
        speed=lambda c: 0.9 if c.policy == F16 else usual_speed(c),
        loss=lambda c: 0.05,
        fault=lambda r: fault(FailureKind.COMPILE) if r.candidate == Candidate(F16, 64, Xla.ON, WIDTHS) else None,
    )
    view = FakeStudy(tmp_path, config, world).run().view
    assert view.decided.winner == ev.BASELINE_TRIAL
    assert view.confirmations == []
    # The space: 2 policies x 2 batches x XLA on and off, less the baseline.
    assert view.decided.reason == (
        "of 7 candidates none was shown to be both faster and as accurate: 3 not faster than the baseline,"
        " 2 less accurate, 1 failed, 1 not confirmed"
    )


def test_the_reason_claims_nothing_of_what_was_left_unmeasured():
    def told(*found: TrialState) -> str:
        trials = [TrialView(number, Candidate(F16, 64, Xla.ON, WIDTHS), state) for number, state in enumerate(found)]
        return _why_no_finalist(trials).rpartition(": ")[2]

    assert told(TrialState.DOMINATED, TrialState.DOMINATED) == "2 dominated"
    assert told(TrialState.SKIPPED, TrialState.REJECTED, TrialState.PASSED) == "1 less accurate, 2 not confirmed"


@pytest.mark.parametrize("sampler", EVERY_SAMPLER)
def test_no_more_trials_than_asked_and_none_twice(tmp_path, sampler):
    study = FakeStudy(tmp_path, config_of(trials=9, sampler=sampler)).run()
    screened = study.screened()
    assert len(screened) <= 9 if sampler is Sampler.auto else len(screened) == 9
    assert len(set(screened)) == len(screened)
    assert Candidate(F32, 32, Xla.OFF, WIDTHS) not in screened, "the baseline, which Keras runs without XLA here"


def test_a_space_no_larger_than_the_trials_is_measured_whole_where_that_is_asked_for(tmp_path):
    for asked in ({"sampler": Sampler.grid}, {"sampler": Sampler.tpe}, {"verify": Verify.all}):
        study = FakeStudy(tmp_path / str(asked), config_of(trials=23, **asked)).run()
        assert study.view.space.space.size == 23
        assert len(set(study.screened())) == 23
        assert study.notes("unlikely") == []


def test_what_is_not_likely_to_be_the_fastest_is_left_out_and_told(tmp_path):
    study = FakeStudy(tmp_path, config_of(trials=23)).run()
    fastest = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)
    assert study.view.winner.candidate == fastest
    screened, notes = study.screened(), study.notes("unlikely")
    assert len(screened) < 15
    assert sum(int(note.partition(" ")[0]) for note in notes) == 23 - len(screened), "each is told"
    told = [re.search(r"not likely to be the fastest: ([0-9.]+)x at most", note) for note in notes]
    assert all(found and float(found[1]) < usual_speed(fastest) for found in told)


def test_what_is_left_out_is_predicted_once_however_much_it_is(tmp_path, monkeypatch):
    """Once for each of a thousand candidates took minutes."""
    predicted = []
    at_most = propose.at_most
    monkeypatch.setattr(propose, "at_most", lambda *args: predicted.append(args) or at_most(*args))
    study = FakeStudy(tmp_path, config_of(trials=23)).run()
    assert study.notes("unlikely")
    assert len(predicted) == 1


def test_memory_that_did_not_suffice_rules_out_larger_batches_of_its_like(tmp_path):
    world = World(fault=lambda r: fault(FailureKind.OOM) if r.candidate.batch_size >= 64 and not low(r) else None)

    def low(request):
        return request.candidate.policy == BF16

    study = FakeStudy(tmp_path, config_of(max_batch_factor=8), world).run()
    float32 = [c for c in study.screened() if c.policy == F32 and c.batch_size >= 64]
    # The first to fail may be any of them; nothing larger is asked for again, and the same only under the other XLA.
    for earlier, later in itertools.pairwise(float32):
        assert (later.batch_size, later.xla) != (earlier.batch_size, earlier.xla)
        assert later.batch_size <= earlier.batch_size
    assert float32
    assert len({c for c in study.screened() if c.policy == BF16}) == 4 * 2 * 2


@pytest.mark.parametrize("kind", [FailureKind.OOM, FailureKind.COMPILE, FailureKind.CRASH, FailureKind.TIMEOUT])
def test_a_probe_that_fails_is_a_recorded_trial_and_the_study_goes_on(tmp_path, kind):
    unlucky = Candidate(BF16, 32, Xla.OFF, WIDTHS)
    world = World(fault=lambda r: fault(kind) if r.candidate == unlucky else None)
    view = FakeStudy(tmp_path, config_of(), world).run().view
    trial = view.trials[number_of(view, unlucky)]
    assert (trial.state, trial.failure.kind, trial.probe) == (TrialState.FAILED, kind, None)
    assert view.winner.confirmation.succeeded


def test_a_probe_whose_loss_is_not_finite_or_whose_request_was_not_granted_has_failed(tmp_path):
    overflowing, refused = Candidate(BF16, 32, Xla.OFF, WIDTHS), Candidate(BF16, 64, Xla.ON, WIDTHS)

    def altered(request, result):
        if request.candidate == overflowing:
            return replace(result, loss=None, loss_finite=False)
        if request.candidate == refused:
            return replace(result, effect=replace(result.effect, xla=False))
        return result

    view = FakeStudy(tmp_path, config_of(), World(altered=altered)).run().view
    kinds = {c: view.trials[number_of(view, c)].failure.kind for c in (overflowing, refused)}
    assert kinds == {overflowing: FailureKind.NAN, refused: FailureKind.UNSUPPORTED}
    assert view.winner.confirmation.succeeded


def test_a_training_that_fails_in_the_gate_is_a_failed_trial(tmp_path):
    unlucky = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)
    world = World(fault=lambda r: fault(FailureKind.CRASH) if (r.candidate, r.seed) == (unlucky, 1) else None)
    study = FakeStudy(tmp_path, config_of(), world).run()
    trial = study.view.trials[number_of(study.view, unlucky)]
    assert (trial.state, trial.failure.kind) == (TrialState.FAILED, FailureKind.CRASH)
    assert len(trial.runs[Stage.VERIFY]) == 1, "what was measured before stays"
    assert study.view.winner.confirmation.succeeded


@pytest.mark.parametrize("operation", ["probe", "train"])
def test_a_baseline_that_fails_ends_the_study_in_one_line(tmp_path, operation):
    world = World(fault=lambda r: fault(FailureKind.NAN) if r.of_baseline and r.operation == operation else None)
    study = FakeStudy(tmp_path, config_of(), world)
    with pytest.raises(BaselineUnusableError, match=r"the float32 baseline cannot be used.*nan: a made-up nan") as told:
        study.run()
    assert isinstance(told.value, UserError)
    assert study.view.baseline.state is TrialState.FAILED
    assert study.screened() == []


def test_for_a_metric_that_should_be_low_worse_is_higher(tmp_path):
    spoilt = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)
    config = config_of()
    config.constraint.metric, config.constraint.direction = "error", Direction.lower
    study = FakeStudy(tmp_path, config, World(loss=lambda c: 0.05 if c == spoilt else 0.0)).run()
    trial = study.view.trials[number_of(study.view, spoilt)]
    assert trial.state is TrialState.REJECTED
    runs, baseline = trial.runs[Stage.VERIFY], {r.seed: r.metric for r in study.view.baseline.runs[Stage.BASELINE]}
    assert all(run.metric > baseline[run.seed] for run in runs)
    assert all(delta < -0.03 for delta in trial.deltas[Stage.VERIFY].values())
    assert study.view.winner.candidate != spoilt
    assert study.view.winner.confirmation.succeeded


def test_the_learning_rate_follows_the_batch_and_the_record_says_so(tmp_path):
    view = FakeStudy(tmp_path, config_of()).run().view
    recipe = view.winner.confirmation.recipe
    assert (recipe.batch_size, recipe.scaling, recipe.base_learning_rate) == (128, "linear", 0.01)
    assert recipe.learning_rate == pytest.approx(0.04)
    assert recipe.warmup_steps == round(0.1 * recipe.total_steps)
    assert recipe.total_steps == 2048 // 128 * 3
    own = view.baseline.runs[Stage.BASELINE][0].recipe
    assert (own.learning_rate, own.warmup_steps, own.total_steps) == (0.01, 0, 192)


def test_two_runs_with_one_seed_name_the_same_trials_and_winner(tmp_path):
    first, second = (FakeStudy(tmp_path / name, config_of(trials=10)).run() for name in ("a", "b"))
    assert first.screened() == second.screened()
    assert states(first.view) == states(second.view)
    assert first.view.decided == second.view.decided


def test_another_seed_proposes_otherwise(tmp_path):
    asked = {"trials": 10, "sampler": Sampler.random}
    first, second = (FakeStudy(tmp_path / str(seed), config_of(**asked, seed=seed)).run() for seed in (0, 1))
    assert first.screened() != second.screened()


def test_half_of_the_space_is_enough_to_find_the_best(tmp_path):
    study = FakeStudy(tmp_path, config_of(trials=12)).run()
    assert study.view.space.space.size == 23
    assert study.view.winner.candidate == Candidate(BF16, 128, Xla.ON, WIDTHS, 8)


def test_a_plan_trains_nothing_and_decides_nothing(tmp_path):
    study = FakeStudy(tmp_path, config_of()).plan()
    assert [r.operation for r in study.executor.requests] == ["probe"]
    assert study.view.space.space.size == 23
    assert study.view.fidelity.recipe.examples == 2048
    assert study.view.decided is None


def test_a_gate_of_more_seeds_than_the_verdicts_first_look_has_the_baseline_to_pair_with(tmp_path):
    study = FakeStudy(tmp_path, config_of(finalists=1, gate_seeds=5)).run()
    assert [seed for _, seed in study.trained(Stage.BASELINE)] == [0, 1, 2, 3, 4]
    assert [seed for _, seed in study.trained(Stage.VERIFY)] == [0, 1, 2, 3, 4]
    assert study.view.winner.confirmation.accuracy.seeds == (1000, 1001, 1002)


def test_a_winner_that_the_absent_target_would_not_be_offered_is_said_to_be(tmp_path):
    study = FakeStudy(tmp_path, config_of(), target=bundled("rtx2060")).run()
    assert study.view.winner.candidate.policy == BF16
    [note] = study.notes("off_target")
    assert note.startswith("mixed_bfloat16 won on this device, but would not be offered on NVIDIA GeForce RTX 2060")
    last_two = study.events[-2:]
    assert [type(event) for event in last_two] == [ev.Note, ev.StudyDecided], "said before it is decided"


def test_a_float32_winner_needs_no_such_note(tmp_path):
    study = FakeStudy(tmp_path, config_of(policies=["float32"]), target=bundled("rtx2060")).run()
    assert study.view.winner.candidate.policy == F32
    assert study.notes("off_target") == []


def test_an_absent_target_has_predictions_for_its_own_policies_too(tmp_path):
    study = FakeStudy(tmp_path, config_of(), target=bundled("rtx2060")).plan()
    predicted = {entry.candidate: entry.step_time_ms for entry in study.view.space.predicted}
    assert all(step_ms > 0 for step_ms in predicted.values())
    policies = {candidate.policy for candidate in predicted}
    assert policies == {F32, F16}, "bfloat16 has no peak there, so nothing is predicted of it"
    assert study.context.baseline in predicted
    here = FakeStudy(tmp_path / "here", config_of()).plan()
    assert here.view.space.predicted == (), "the peaks of this CPU's cores are not known"


def with_layers(monkeypatch, change, products=()):
    """The made-up model with another last layer, whose traced step has these products."""

    def effect(candidate):
        found = effect_of(candidate)
        return replace(found, layers=(*found.layers[:-1], replace(found.layers[-1], **change)), products=products)

    monkeypatch.setattr(fake_executor, "effect_of", effect)


def test_a_prediction_tells_what_is_in_it_of_layers_that_nobody_counts(tmp_path, monkeypatch):
    plain = FakeStudy(tmp_path / "plain", config_of(), target=bundled("rtx2060")).plan()
    gflop = (Products("float32", 3, 200_000_000_000),)
    with_layers(monkeypatch, {"kind": "LSTMCell", "flops_per_example": None}, gflop)
    traced = FakeStudy(tmp_path / "traced", config_of(), target=bundled("rtx2060")).plan()
    assert "the traced step's" not in plain.view.space.prediction_note
    assert "100% of the FLOPs are the traced step's" in traced.view.space.prediction_note
    assert "class (LSTMCell)" in traced.view.space.prediction_note
    own = traced.context.baseline
    known, more = ({one.candidate: one for one in study.view.space.predicted} for study in (plain, traced))
    assert more[own].step_time_ms > known[own].step_time_ms + 25, "200 GFLOP at 6.45 TFLOP/s are 31 ms"


def test_nothing_is_predicted_and_no_batch_bounded_where_outputs_are_not_known(tmp_path, monkeypatch):
    with_layers(monkeypatch, {"activations_per_example": None})
    study = FakeStudy(tmp_path, config_of(), target=bundled("rtx2060")).plan()
    assert study.view.space.predicted == ()
    assert study.view.space.prediction_note == (
        "nothing is predicted for NVIDIA GeForce RTX 2060 6GB: the work of layers is not known (class)"
    )
    assert study.notes("memory") == ["memory bounds no batch beforehand: what layers put out is not known (class)"]
