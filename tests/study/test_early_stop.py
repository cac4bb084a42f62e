"""Trainings of the verify stage that are hopelessly behind float32's learning curve end early, and prove nothing."""

from __future__ import annotations

import pytest

from autotune.config.constraint import Direction
from autotune.config.objective import Objective
from autotune.config.search import Verify
from autotune.console.lines import lines_of
from autotune.decide import stopping
from autotune.record import events as ev
from autotune.report import training
from autotune.tracking.rows import trial_row
from autotune.trial import Candidate, Stage, TrialState, Xla
from tests.study.fake_executor import BF16, WIDTHS, FakeStudy, World, config_of

SPOILT = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)


def hopeless(candidate: Candidate) -> float:
    return 0.5 if candidate == SPOILT else 0.0


def behind(**truth) -> World:
    """The fastest candidate loses 8 points, and half of what there is in the middle."""
    return World(loss=lambda c: 0.08 if c == SPOILT else 0.0, lag=hopeless, **truth)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory) -> FakeStudy:
    return FakeStudy(tmp_path_factory.mktemp("stopped"), config_of(), behind()).run()


def trial_of(study: FakeStudy, candidate: Candidate = SPOILT):
    return next(trial for trial in study.view.trials.values() if trial.candidate == candidate)


def test_it_ends_in_the_middle_and_is_rejected_with_the_error_rate(stopped):
    trial = trial_of(stopped)
    [run] = trial.runs[Stage.VERIFY]
    assert (run.metric, run.right, run.stopped.epoch, run.iterations) == (None, None, 2, 2 * 2048 // 128)
    assert trial.deltas == {}
    assert trial.state is TrialState.REJECTED
    assert trial.reason.startswith("stopped early on seed 0, after epoch 2 of 3: ")
    assert "1% of cases" in trial.reason
    assert trial.accuracy is None
    assert stopped.view.winner.candidate != SPOILT


def test_a_loser_costs_less_than_it_would_have(stopped, tmp_path):
    whole = FakeStudy(tmp_path, config_of(early_stop=False), behind()).run()
    [run] = trial_of(whole).runs[Stage.VERIFY]
    assert run.stopped is None
    assert trial_of(stopped).runs[Stage.VERIFY][0].train_s < 0.7 * run.train_s
    assert whole.view.winner.candidate == stopped.view.winner.candidate


def test_it_counts_as_clearly_lost_for_its_like(tmp_path):
    def at_128(candidate: Candidate) -> float:
        return 0.5 if candidate.batch_size == 128 else 0.0

    study = FakeStudy(tmp_path, config_of(), World(loss=lambda c: at_128(c) / 5, lag=at_128)).run()
    trained = [t for t in study.view.trials.values() if t.candidate.batch_size == 128 and Stage.VERIFY in t.runs]
    assert len(trained) == 1
    assert study.view.winner.candidate.batch_size == 64


def test_a_slow_starter_is_trained_to_its_end_and_wins(tmp_path):
    study = FakeStudy(tmp_path, config_of(), World(lag=lambda c: 0.1 if c == SPOILT else 0.0)).run()
    assert study.view.winner.candidate == SPOILT
    assert any(study.executor.stops.values()), "it could have been stopped"


def test_only_the_gates_trainings_of_candidates_may_be_stopped(stopped):
    asked = stopped.executor.stops
    assert all(not stops for request, stops in asked.items() if request.of_baseline or request.stage is Stage.CONFIRM)
    assert all(stops for request, stops in asked.items() if not request.of_baseline and request.stage is Stage.VERIFY)
    assert sum(request.stage is Stage.CONFIRM and not request.of_baseline for request in asked) >= 3


@pytest.mark.parametrize("setting", ["off", "all", "time_to_accuracy", "another metric"])
def test_where_whole_trainings_are_wanted_or_nothing_is_known_none_is_stopped(tmp_path, setting):
    config = config_of(trials=4)
    match setting:
        case "off":
            config.search.early_stop = False
        case "all":
            config.search.verify = Verify.all
        case "time_to_accuracy":
            config.objective.name = Objective.time_to_accuracy
        case _:
            config.constraint.metric = "agreement"
    study = FakeStudy(tmp_path, config, behind()).run()
    assert study.executor.stops
    assert not any(study.executor.stops.values())


def test_a_metric_that_falls(tmp_path):
    config = config_of()
    config.constraint.metric, config.constraint.direction = "error", Direction.lower
    study = FakeStudy(tmp_path, config, behind(metric=0.2)).run()
    trial = trial_of(study)
    assert trial.state is TrialState.REJECTED
    [run] = trial.runs[Stage.VERIFY]
    assert not run.stopped.higher
    assert run.curve[-1].metric > run.stopped.metric > 0.2


def test_a_resumed_study_stops_nothing_twice_and_decides_the_same(stopped, tmp_path):
    again = FakeStudy(stopped.folder, config_of(), behind()).run()
    assert again.executor.requests == []
    assert again.view.decided.winner == stopped.view.decided.winner


def test_a_session_without_early_stopping_trains_to_the_end_what_an_earlier_one_stopped(tmp_path):
    FakeStudy(tmp_path, config_of(), behind()).run()
    later = FakeStudy(tmp_path, config_of(early_stop=False), behind()).run()
    again = [r for r in later.executor.requests if r.candidate == SPOILT and r.operation == "train"]
    assert [request.seed for request in again] == [0]
    assert trial_of(later).reason.startswith("stopped after 1 of 2 seeds at -8")
    [run] = trial_of(later).runs[Stage.VERIFY]
    assert run.stopped is None, "the record holds what was decided upon"
    assert trial_of(later).deltas[Stage.VERIFY].keys() == {0}
    assert FakeStudy(tmp_path, config_of(early_stop=False), behind()).run().executor.requests == []


def test_console_report_and_mlflow_say_that_it_was_stopped_and_not_that_it_was_nan(stopped):
    view = stopped.view
    trial = trial_of(stopped)
    event = next(e for e in stopped.of_kind(ev.Trained) if e.run.stopped is not None)
    [(_, _, text)] = lines_of(event, view)
    assert text.startswith("seed 0    stopped early after epoch 2 of 3: accuracy ")
    assert "worse than" in text
    health = training.health(training.all_runs(trial))
    assert (health.trainings, health.stopped_early, health.non_finite) == (1, 1, 0)
    row = trial_row(trial, view, "accuracy")
    assert "non_finite" not in row.tags
    assert row.metrics["training/stopped_early"] == 1
    assert {"val_accuracy", "accuracy_delta", "seeds"}.isdisjoint(row.metrics)
    assert row.tags["gate"] == "rejected"
    assert f"{stopping.ERROR:.0%} of cases" in row.tags["reason"]
