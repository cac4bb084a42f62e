from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.record import events as ev
from autotune.record.view import StudyView, TrialView
from autotune.trial import Failure, FailureKind, Interval, Stage, TimingVerdict, TrialState
from tests.sample_gates import STOPPED, stopped_events
from tests.sample_study import (
    BASELINE_METRIC,
    CANDIDATES,
    CONFIRM_DELTA,
    GATE_DELTA,
    SPEEDUP,
    WINNER,
    sample_events,
)


@pytest.fixture
def view() -> StudyView:
    return StudyView.of(sample_events())


def test_nothing_is_known_before_the_first_event() -> None:
    empty = StudyView()
    assert (empty.started, empty.baseline, empty.winner, empty.decided) == (None, None, None, None)
    assert empty.trials == {}


def test_a_study_folds_into_its_trials(view: StudyView) -> None:
    assert {number: trial.candidate for number, trial in view.trials.items()} == CANDIDATES
    assert {number: trial.state for number, trial in view.trials.items()} == {
        0: TrialState.SCREENED,
        1: TrialState.SLOWER,
        2: TrialState.DOMINATED,
        3: TrialState.REJECTED,
        4: TrialState.PASSED,
        5: TrialState.PASSED,
        6: TrialState.FAILED,
        7: TrialState.DOMINATED,
        8: TrialState.DOMINATED,
    }
    assert view.baseline is view.trials[0]
    assert view.baseline.is_baseline
    assert view.winner is view.trials[WINNER]
    assert not view.winner.is_baseline


def test_the_last_of_each_opening_event_is_kept(view: StudyView) -> None:
    kinds = {type(event): event for event in sample_events()}
    assert view.started == kinds[ev.StudyStarted]
    assert (view.space, view.fidelity) == (kinds[ev.SpacePlanned], kinds[ev.FidelityPlanned])
    assert (view.stage, view.current) == (kinds[ev.StageStarted], kinds[ev.TrialStarted])
    assert (view.decided, view.exported) == (kinds[ev.StudyDecided], kinds[ev.Exported])
    assert [note.topic for note in view.notes] == ["noise"]


def test_the_first_worker_is_the_one_that_is_described(view: StudyView) -> None:
    assert view.worker is not None
    view.apply(replace(view.worker, worker=2))
    assert view.worker.worker == 1


def test_a_failed_trial_says_why(view: StudyView) -> None:
    failed = view.trials[6]
    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.COMPILE
    assert failed.reason == str(failed.failure)
    assert (failed.probe, failed.speedup, failed.latest_metric, failed.latest_delta) == (None, None, None, None)


def test_figures_of_screening_are_not_replaced_by_those_of_confirmation(view: StudyView) -> None:
    winner = view.trials[WINNER]
    assert winner.probe is not None
    assert winner.speedup is not None
    before = winner.probe, winner.speedup, winner.timing
    again = replace(winner.probe, worker=2, block_step_ms=(99.0,))
    view.apply(ev.Probed(WINNER, Stage.CONFIRM, again, None, TimingVerdict.SLOWER, 1.0))
    assert (winner.probe, winner.speedup, winner.timing) == before
    assert winner.speedup.estimate == SPEEDUP[WINNER][0]


def test_a_verdict_outlives_another_probe(view: StudyView) -> None:
    slower = view.trials[1]
    assert slower.probe is not None
    view.apply(ev.Probed(1, Stage.SCREEN, slower.probe, slower.speedup, TimingVerdict.UNCLEAR, 1.0))
    assert slower.state is TrialState.SLOWER
    assert slower.timing is TimingVerdict.UNCLEAR


def test_metrics_and_differences_are_those_of_the_last_stage(view: StudyView) -> None:
    winner, rejected, baseline = view.trials[WINNER], view.trials[3], view.trials[0]
    assert winner.deltas[Stage.CONFIRM] == dict(zip((100, 101, 102), CONFIRM_DELTA[WINNER], strict=True))
    assert winner.deltas[Stage.VERIFY] == dict(enumerate(GATE_DELTA[WINNER]))
    assert winner.latest_delta == pytest.approx(sum(CONFIRM_DELTA[WINNER]) / 3)
    assert rejected.latest_delta == pytest.approx(sum(GATE_DELTA[3]) / 2)
    assert rejected.latest_metric == pytest.approx((0.4420 - 0.0262 + 0.4386 - 0.0218) / 2)
    assert baseline.metric(Stage.BASELINE) == pytest.approx(sum(BASELINE_METRIC[seed] for seed in (0, 1, 2)) / 3)
    assert baseline.latest_metric == pytest.approx(sum(BASELINE_METRIC[seed] for seed in (100, 101, 102)) / 3)
    assert baseline.latest_delta is None


def test_a_training_without_a_metric_does_not_count(view: StudyView) -> None:
    trial = TrialView(0, CANDIDATES[0])
    run = view.trials[0].runs[Stage.BASELINE][0]
    assert trial.metric(Stage.BASELINE) is None
    trial.runs[Stage.BASELINE] = [replace(run, metric=None), replace(run, metric=0.4)]
    assert trial.metric(Stage.BASELINE) == 0.4
    trial.runs[Stage.BASELINE] = [replace(run, metric=None)]
    assert trial.latest_metric is None


def test_a_stage_with_a_training_that_was_stopped_early_has_no_mean_of_the_others() -> None:
    trial = StudyView.of(stopped_events()).trials[STOPPED]
    assert trial.deltas[Stage.VERIFY] == {0: 0.0}
    assert (trial.metric(Stage.VERIFY), trial.latest_metric) == (None, None)
    assert (trial.delta(Stage.VERIFY), trial.latest_delta) == (None, None)


@pytest.mark.parametrize(
    ("stage", "state"),
    [(Stage.SCREEN, TrialState.FAILED), (Stage.VERIFY, TrialState.FAILED), (Stage.CONFIRM, TrialState.PASSED)],
)
def test_a_failure_while_confirming_leaves_the_state_that_was_reached(
    view: StudyView, stage: Stage, state: TrialState
) -> None:
    failure = Failure(FailureKind.OOM, "no memory")
    view.apply(ev.TrialFailed(5, stage, CANDIDATES[5], failure))
    assert view.trials[5].failure == failure
    assert view.trials[5].state is state


def test_confirmations_belong_to_their_trials(view: StudyView) -> None:
    assert [confirmation.trial for confirmation in view.confirmations] == [4, 5]
    for confirmation in view.confirmations:
        assert view.trials[confirmation.trial].confirmation is confirmation
        assert confirmation.succeeded is (confirmation.trial == WINNER)


def test_what_was_timed_to_confirm_is_kept_by_process(view: StudyView) -> None:
    winner = view.trials[WINNER]
    assert [probed.probe.worker for probed in winner.confirming] == [2, 3, 4]
    assert view.trials[3].confirming == []


def test_what_disturbed_the_screening_is_kept_with_its_trial(view: StudyView) -> None:
    assert [found.pair for found in view.trials[5].suspicious] == [2, 6, 7]
    assert view.trials[WINNER].suspicious == ()


def test_the_gain_is_the_objectives_or_the_speedup(view: StudyView) -> None:
    assert view.trials[WINNER].gain == view.trials[WINNER].speedup
    energy = StudyView.of(sample_events(objective="energy")).trials[WINNER]
    assert energy.gain == energy.objective_gain != energy.speedup


def test_a_gain_that_is_read_from_trainings_comes_with_the_judgement(view: StudyView) -> None:
    gain = Interval(2.4, 2.2, 2.6, 0.95, 2, "t")
    view.apply(ev.TrialJudged(5, TrialState.PASSED, "passed", gain=gain))
    assert view.trials[5].gain == gain
    view.apply(ev.TrialJudged(5, TrialState.PASSED, "again"))
    assert view.trials[5].gain == gain


def test_comparisons_of_finalists_are_kept_in_order(view: StudyView) -> None:
    assert [(found.trial, found.other, found.preferred) for found in view.comparisons] == [(4, 5, 4)]
    view.apply(replace(view.comparisons[0], trial=7))
    assert [found.trial for found in view.comparisons] == [4, 7]


def test_an_interrupted_study_keeps_what_it_has() -> None:
    view = StudyView.of(sample_events(interrupted=True))
    assert view.decided is not None
    assert view.decided.interrupted == "interrupt"
    assert view.winner is view.baseline
    assert view.exported is None
    assert view.confirmations == []
    assert view.current is not None
    assert (view.current.trial, view.current.seed) == (5, 1)


def test_the_anatomy_is_kept_and_a_record_from_before_there_was_one_has_none(view: StudyView) -> None:
    assert view.inspected is None
    found = StudyView.of(sample_events(inspected=True)).inspected
    assert found is not None
    assert found.failure is None
    assert found.anatomy is not None
    assert [layer.name for layer in found.anatomy.float32.layers[:3]] == ["dense_0", "dense_1", "dense_2"]


def test_folding_step_by_step_is_folding_at_once() -> None:
    events = sample_events()
    stepwise = StudyView()
    for event in events:
        stepwise.apply(event)
    assert stepwise == StudyView.of(events)
