from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.record.events import FinalistConfirmed, StudyStarted, Trained, TrialJudged, TrialStarted
from autotune.record.view import StudyView
from autotune.report.method import how_measured
from autotune.report.page.tradeoff import plot_of
from autotune.report.tradeoff import Kind, Tradeoff, tradeoff
from autotune.trial import Accuracy, AccuracyVerdict, Interval, Stage
from tests.sample_study import BASELINE_METRIC, MARGIN, sample_events

BASELINE = sum(BASELINE_METRIC[seed] for seed in (0, 1, 2)) / 3


def plot(**variant: bool) -> Tradeoff:
    content = tradeoff(StudyView.of(sample_events(**variant)))
    assert content is not None
    return content


def test_the_constraint_lies_one_margin_below_the_baseline():
    content = plot()
    assert content.baseline == pytest.approx(BASELINE)
    assert content.limit == pytest.approx(BASELINE - MARGIN)


def test_a_point_lies_at_its_paired_difference_whatever_its_seeds():
    winner = next(p for p in plot().trained if p.kind is Kind.WINNER)
    assert winner.metric == pytest.approx(BASELINE - 0.0018)
    assert (winner.metric_low, winner.metric_high) == pytest.approx((BASELINE - 0.0052, BASELINE + 0.0016))
    assert (winner.gain, winner.gain_low, winner.gain_high) == (5.94, 5.80, 6.09)
    assert winner.judged


def test_what_was_never_trained_is_given_no_accuracy():
    content = plot()
    assert [p.trial for p in content.untrained] == [1, 2, 7, 8]
    assert all(p.metric is None for p in content.untrained)
    assert [p.trial for p in content.trained] == [0, 3, 4, 5]


def test_what_has_no_speed_is_named_beside_the_plot():
    (line,) = plot().unplotted
    assert line.startswith("trial 6 (")
    assert "compile" in line


def test_the_front_runs_over_trained_points_only():
    assert [speed for speed, _ in plot().front] == [1.0, 5.94, 8.4]


def test_kinds():
    kinds = {p.trial: p.kind for p in (*plot().trained, *plot().untrained)}
    assert kinds[0] is Kind.BASELINE
    assert kinds[1] is Kind.SLOWER
    assert kinds[2] is Kind.DOMINATED
    assert kinds[3] is Kind.REJECTED
    assert kinds[5] is Kind.FINALIST
    assert Kind.WINNER not in {p.kind for p in plot(winner=False).trained}
    assert {p.trial: p.kind for p in plot(interrupted=True).trained}[4] is Kind.PASSED


def test_a_lower_metric_that_is_better_turns_everything_round():
    events = []
    for event in sample_events():
        if isinstance(event, StudyStarted):
            constraint = {"metric": "rmse", "direction": "lower", "margin": MARGIN}
            event = replace(event, config={**event.config, "constraint": constraint})
        elif isinstance(event, Trained) and event.run.metric is not None and event.delta is not None:
            worse = event.run.metric - 2 * event.delta
            event = replace(event, run=replace(event.run, metric=worse))
        events.append(event)
    content = tradeoff(StudyView.of(events))
    assert content is not None
    assert content.limit == pytest.approx(BASELINE + MARGIN)
    assert content.limit_text == "constraint: baseline plus 0.01"
    metrics = {p.trial: p.metric for p in content.trained}
    assert metrics[4] == pytest.approx(BASELINE + 0.0018)
    assert [speed for speed, _ in content.front] == [1.0, 5.94, 8.4]


def test_an_interval_over_the_two_seeds_of_the_gate_does_not_flatten_the_plot():
    wide = Accuracy(
        AccuracyVerdict.FAIL, Interval(-0.024, -0.3, 0.25, 0.95, 2, "t"), (-0.026, -0.022), (0, 1), MARGIN, 0.02
    )
    events = [replace(e, accuracy=wide) if isinstance(e, TrialJudged) and e.trial == 3 else e for e in sample_events()]
    content = tradeoff(StudyView.of(events))
    assert content is not None
    low, high = content.metric_range
    assert high - low < 0.05
    assert low < content.limit < high  # type: ignore[operator]


def test_a_finalist_that_was_not_judged_on_new_seeds_does_not_look_confirmed():
    """What is recorded of one that fresh processes do not show to be faster: it was not trained again."""
    wide = Accuracy(
        AccuracyVerdict.PASS, Interval(-0.002, -0.3, 0.25, 0.95, 2, "t"), (-0.003, -0.001), (0, 1), MARGIN, 0.02
    )
    events = []
    for event in sample_events(winner=False):
        if isinstance(event, Trained | TrialStarted) and event.trial == 5 and event.stage is Stage.CONFIRM:
            continue
        if isinstance(event, TrialJudged) and event.trial == 5:
            event = replace(event, accuracy=wide)
        if isinstance(event, FinalistConfirmed) and event.confirmation.trial == 5:
            event = FinalistConfirmed(replace(event.confirmation, accuracy=None, metric=None, baseline_metric=None))
        events.append(event)
    view = StudyView.of(events)
    content = tradeoff(view)
    assert content is not None
    points = {point.trial: point for point in content.trained}
    assert (points[5].kind, points[5].judged, points[5].speed_from) == (Kind.FINALIST, False, Stage.CONFIRM)
    assert points[4].judged, "refuted, on new seeds"
    low, high = content.metric_range
    assert high - low < 0.05, "the gate's wide interval does not set the range"
    rows = {row.split("</a>")[0].rpartition(">")[2]: row for row in plot_of(content).table.split("<tr>")}
    assert "<td>fresh processes, few seeds</td>" in rows["5"]
    assert "<td>fresh processes, new seeds</td>" in rows["4"]
    assert not any(line.startswith("trial 5, confirmed") for line in how_measured(view))


def test_a_caption_says_where_how_and_what_to_doubt():
    caption = " ".join(plot(on_target=False, stand_in=True).caption)
    for words in ("RTX 3090", "8,000 examples x 3 epochs", "screening", "confirmed", "WARNING"):
        assert words in caption


def test_whoever_points_at_a_trial_sees_the_stage_of_each_speed_and_what_disturbed():
    content = plot()
    details = {p.trial: "\n".join(p.details) for p in (*content.trained, *content.untrained)}
    assert "screen: speedup 3.91x [3.84, 3.98] (95 %, 12 pairs)" in details[2]
    assert "confirm: speedup 5.94x [5.80, 6.09] (95 %, 36 pairs)" in details[4]
    assert "confirm: 2 of 36 pairs disturbed, all of them counted" in details[4]
    assert "first step 3.10 s, of which compiling 3.08 s" in details[4]
    assert "an epoch takes 0.543 s instead of 1.31 s" in details[4]
    assert "disturbed" not in details[2]


def test_another_objective_takes_the_axis_and_what_it_never_measured_is_named_beside_the_plot():
    content = tradeoff(StudyView.of(sample_events(objective="time_to_accuracy")))
    assert content is not None
    assert content.title.endswith("time to accuracy against accuracy")
    assert content.axis_text.startswith("training time to float32's accuracy")
    assert [p.trial for p in (*content.trained, *content.untrained)] == [0, 4, 5]
    assert len(content.unplotted) == 6


def test_a_relative_margin_is_a_share_of_the_baselines_own_mean():
    content = tradeoff(StudyView.of(sample_events(relative=True)))
    assert content is not None
    assert content.limit == pytest.approx(BASELINE * 0.98)
    assert content.limit_text == "constraint: baseline less 2 % of float32's own (0.88 pp)"


def test_no_plot_before_the_baseline_was_trained():
    events = sample_events()
    first = next(i for i, e in enumerate(events) if isinstance(e, Trained) and e.stage is Stage.BASELINE)
    assert tradeoff(StudyView.of(events[:first])) is None
    assert tradeoff(StudyView.of(events[: first + 1])) is not None
