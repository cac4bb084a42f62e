from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.record.view import StudyView
from autotune.report import training
from autotune.report.measure import Measure
from autotune.trial import Confirmation, Interval, TimeToAccuracy
from tests.sample_study import LOST_DELTA, WINNER, sample_events
from tests.sample_values import confirmation, run

ACCURACY = Measure("accuracy", True, 0.01)


def lost() -> Confirmation:
    return confirmation(WINNER, LOST_DELTA[WINNER], "throughput")


def test_health_is_the_lowest_scale_and_the_share_of_all_steps():
    first, second = run(3, 0, 0.42), replace(run(3, 1, 0.42), loss_scale=4096.0, skipped_steps=4)
    found = training.health([first, second])
    assert found is not None
    assert (found.trainings, found.loss_scale, found.loss_scale_lowest) == (2, 4096.0, 4096.0)
    assert (found.skipped_steps, found.skipped_share) == (6, pytest.approx(6 / 90))
    assert training.health([]) is None


def test_a_scale_that_recovered_is_remembered():
    found = training.health([run(3, 0, 0.42)])
    assert found is not None
    assert (found.loss_scale, found.loss_scale_lowest) == (16384.0, 8192.0)


def test_what_was_not_finite_is_counted():
    runs = [run(4, 0, 0.44), replace(run(4, 1, 0.44), loss_finite=False), replace(run(4, 2, 0.44), metric=None)]
    found = training.health(runs)
    assert found is not None
    assert (found.non_finite, found.loss_scale, found.loss_scale_lowest) == (2, None, None)


def test_a_verified_trial_has_its_time_to_accuracy_from_its_own_trainings():
    view = StudyView.of(sample_events(interrupted=True))
    found = training.time_to_accuracy(view, view.trials[WINNER])
    assert found is not None
    assert found.seeds == (0, 1)
    assert found.ratio is not None
    assert found.ratio.estimate > 2
    rejected = training.time_to_accuracy(view, view.trials[3])
    assert rejected is not None
    assert rejected.candidate_s == (None, None)
    assert training.time_to_accuracy(view, view.trials[2]) is None
    assert training.time_to_accuracy(view, view.trials[0]) is None


def test_a_relative_margin_is_taken_of_each_seeds_own_baseline():
    """2 % of 0.44 is less than 1 pp, so that it takes longer to get there."""
    absolute, relative = (StudyView.of(sample_events(interrupted=True, relative=flag)) for flag in (False, True))
    wide, narrow = (training.time_to_accuracy(view, view.trials[WINNER]) for view in (absolute, relative))
    assert wide is not None
    assert narrow is not None
    assert all(
        a is not None and b is not None and a < b for a, b in zip(wide.candidate_s, narrow.candidate_s, strict=True)
    )


def test_a_mean_over_those_that_got_there_would_flatter():
    assert training.mean_time_s([1.0, 2.0]) == 1.5
    assert training.mean_time_s([1.0, None]) is None
    assert training.mean_time_s([]) is None


def test_end_to_end_says_what_an_epoch_and_the_accuracy_take():
    view = StudyView.of(sample_events())
    text = training.end_to_end(ACCURACY, view.confirmations[0])
    assert text == (
        "an epoch takes 0.543 s instead of 1.31 s; float32's accuracy less the margin after 1.48 s instead of 3.49 s,"
        " 2.36x [2.24, 2.48]"
    )


def test_a_batch_that_learns_slower_shows_as_such():
    assert (training.end_to_end(ACCURACY, lost()) or "").endswith("was not reached on 3 of 3 seeds")
    found = TimeToAccuracy((0, 1), (10.0, 10.0), (12.0, 13.0), Interval(0.8, 0.7, 0.9, 0.95, 2, "t"))
    text = training.end_to_end(ACCURACY, replace(lost(), time_to_accuracy=found))
    assert (text or "").endswith(
        "0.80x [0.70, 0.90]: it steps faster but gets there later, since it learns slower or compiles for longer"
    )
    found = replace(found, ratio=Interval(0.9, 0.6, 1.35, 0.95, 2, "t"))  # which shows neither
    text = training.end_to_end(ACCURACY, replace(lost(), time_to_accuracy=found))
    assert (text or "").endswith("0.90x [0.60, 1.35]")


def test_a_metric_that_should_fall_is_reached_from_above():
    text = training.end_to_end(Measure("cross_entropy", False, 0.02), lost())
    assert "float32's cross_entropy plus the margin" in (text or "")


def test_nothing_is_said_of_what_was_not_trained():
    assert training.end_to_end(ACCURACY, replace(lost(), epoch_s=None, time_to_accuracy=None)) is None
