from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.record.events import Trained
from autotune.record.view import StudyView
from autotune.report.curves import MOST, Curves, curves
from autotune.trial import Stage
from tests.sample_gates import STOPPED, stopped_events
from tests.sample_study import BASELINE_METRIC, sample_events
from tests.sample_values import NEW_SEEDS


def found(events: list) -> Curves:
    content = curves(StudyView.of(events))
    assert content is not None
    return content


def test_the_baseline_leads_then_the_winner_the_other_finalist_and_who_was_only_verified():
    content = found(sample_events())
    assert [series.trial for series in content.series] == [0, 4, 5, 3]
    assert [series.confirmed for series in content.series] == [True, True, True, False]
    assert [series.stage for series in content.series[1:]] == [Stage.CONFIRM, Stage.CONFIRM, Stage.VERIFY]


def test_the_baseline_is_that_of_the_seeds_beside_it():
    content = found(sample_events())
    assert set(content.baseline.metric.runs) == set(NEW_SEEDS), "those of the finalists, and no other of its own"
    assert set(found(stopped_events()).baseline.metric.runs) == {0, 1}


def test_a_mean_is_over_all_seeds_at_epochs_that_all_have():
    winner = found(sample_events()).series[1]
    assert [point.epoch for point in winner.metric.mean] == [1, 2, 3]
    last = [points[-1].value for points in winner.metric.runs.values()]
    assert winner.metric.mean[-1].value == pytest.approx(sum(last) / 3)
    stopped = next(series for series in found(stopped_events()).series if series.trial == STOPPED)
    assert stopped.stopped == (1,)
    assert [point.epoch for point in stopped.metric.mean] == [1]


def test_an_epoch_without_a_metric_has_no_point():
    events = [
        replace(event, run=replace(event.run, curve=(replace(event.run.curve[0], metric=None), *event.run.curve[1:])))
        if isinstance(event, Trained)
        else event
        for event in sample_events()
    ]
    baseline = found(events).baseline
    assert [point.epoch for point in baseline.metric.runs[100]] == [2, 3]
    assert [point.epoch for point in baseline.loss.runs[100]] == [1, 2, 3], "every epoch has its training loss"


def test_more_trials_than_can_be_told_apart_are_counted():
    view = StudyView.of(sample_events())
    for number in range(20, 30):
        view.trials[number] = replace(view.trials[3], number=number)
    content = curves(view)
    assert content is not None
    assert len(content.series) == 1 + MOST
    assert content.left_out == 3 + 10 - MOST


def test_before_the_baseline_was_trained_there_is_none():
    events = sample_events()
    first = next(i for i, e in enumerate(events) if isinstance(e, Trained))
    assert curves(StudyView.of(events[:first])) is None
    alone = found(events[: first + 1])
    assert [series.trial for series in alone.series] == [0]
    assert alone.baseline.metric.mean[-1].value == pytest.approx(BASELINE_METRIC[0])
