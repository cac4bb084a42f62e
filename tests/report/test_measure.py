from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from autotune.console.lines import lines_of
from autotune.record.events import Event, FinalistConfirmed, StudyStarted, Trained
from autotune.record.view import StudyView
from autotune.report.answer import answer
from autotune.report.measure import Measure
from autotune.report.table import trials_csv
from autotune.report.tradeoff import tradeoff
from autotune.trial import Interval
from tests.sample_study import sample_events

ACCURACY = Measure("accuracy", True, 0.01)
RMSE = Measure("rmse", False, 0.25)


def test_accuracy_is_in_per_cent_and_its_differences_in_percentage_points():
    assert ACCURACY.value(0.44196) == "44.20 %"
    assert ACCURACY.delta(-0.0018) == "-0.18 pp"
    assert ACCURACY.delta(0.0) == "+0.00 pp"
    assert ACCURACY.size(0.01) == "1.00 pp"
    assert ACCURACY.delta_interval(Interval(-0.0018, -0.0052, 0.0016, 0.955, 3, "t")) == "-0.18 pp [-0.52, +0.16]"


def test_another_metric_is_plain():
    assert RMSE.value(3.14159) == "3.142"
    assert RMSE.delta(-0.1234) == "-0.123"
    assert RMSE.size(0.25) == "0.25"


def test_a_relative_margin_is_told_as_a_share_and_absolute():
    relative = Measure("accuracy", True, 0.0088, 0.02)
    assert relative.allowance() == "2 % of float32's own (0.88 pp)"
    assert relative.allowance(0.0091) == "2 % of float32's own (0.91 pp)"
    assert Measure("accuracy", True, None, 0.02).allowance() == "2 % of float32's own"
    assert ACCURACY.allowance() == "1.00 pp"


def test_a_relative_margin_has_no_size_before_the_baseline_was_trained():
    events = sample_events(relative=True)
    assert Measure.of(StudyView.of(events[:2])).margin is None
    whole = Measure.of(StudyView.of(events))
    assert whole.margin == pytest.approx(0.02 * (0.4420 + 0.4386 + 0.4454) / 3)


def test_unknown_is_never_a_zero():
    assert (ACCURACY.value(None), ACCURACY.delta(None), ACCURACY.size(None)) == ("-", "-", "-")


def test_a_better_difference_lowers_a_metric_that_is_better_low():
    assert ACCURACY.shifted(0.44, 0.01) == 0.45
    assert RMSE.shifted(3.0, 0.5) == 2.5


def study_of(direction: str, **options: bool) -> list[Event]:
    first, *rest = sample_events(**options, objective="pareto")
    assert isinstance(first, StudyStarted)
    constraint = {**first.config["constraint"], "direction": direction}
    return [replace(first, config={**first.config, "constraint": constraint}), *rest]


@pytest.mark.parametrize(("direction", "told"), [("higher", False), ("lower", True)])
def test_where_lower_is_better_each_text_says_what_a_difference_means(direction, told):
    events = study_of(direction)
    view, lost = StudyView.of(events), StudyView.of(study_of(direction, winner=False))
    rows, without = dict(answer(view).rows), dict(answer(lost).rows)
    texts = [rows["accuracy"], rows["test part"], rows["front, trial 4"], without["trial 4"]]
    plot = tradeoff(view)
    assert plot is not None
    texts += [line for point in plot.trained for line in point.details if "paired difference" in line]
    judged = [e for e in events if isinstance(e, FinalistConfirmed) or (isinstance(e, Trained) and e.delta is not None)]
    texts += [text for event in judged for _, _, text in lines_of(event, view)]
    assert {"(above zero is better)" in text for text in texts} == {told}
    assert {row["metric_direction"] for row in csv.DictReader(io.StringIO(trials_csv(view)))} == {direction}
