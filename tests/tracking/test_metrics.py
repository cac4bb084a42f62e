from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from autotune.record.events import Trained
from autotune.record.view import StudyView
from autotune.tracking.evidence import version_tags
from autotune.tracking.metrics import Metrics, trial_metrics
from autotune.tracking.points import trial_points
from autotune.tracking.rows import comparisons, trial_row
from autotune.tracking.summary import study_row
from autotune.trial import Stage
from tests.sample_gates import STOPPED, stopped_events
from tests.sample_study import sample_events


def _metrics(trial: int, **study: object) -> Metrics:
    view = StudyView.of(sample_events(**study))  # type: ignore[arg-type]
    found = trial_metrics(view.trials[trial], view, "accuracy")
    return {name: value for name, value in found.items() if value is not None}


def test_a_screened_speed_is_called_that_and_the_short_names_are_of_claims_only() -> None:
    for trial in range(9):
        names = _metrics(trial).keys()
        assert ({"speedup", "step_time_ms", "examples_per_s"} <= names) is (trial in (4, 5))
        assert ("screen_step_time_ms" in names) is (trial != 6)


def test_compilation_and_the_first_step_stand_apart() -> None:
    found = _metrics(1)
    assert (found["timing/build_s"], found["timing/first_step_s"]) == (0.4, 0.9)
    assert found["timing/compile_s"] == pytest.approx(0.9 - 0.00226)


def test_what_disturbed_and_what_the_clock_took_are_metrics_of_each_stage() -> None:
    assert (_metrics(5)["timing/screen_pairs"], _metrics(5)["timing/screen_suspicious_pairs"]) == (12, 3)
    winner = _metrics(4)
    assert (winner["timing/confirmed_pairs"], winner["timing/confirmed_suspicious_pairs"]) == (36, 2)
    assert winner["timing/confirmed_sync_share"] == pytest.approx(0.06 / (2.10 * 0.98 * 48))
    assert (_metrics(3)["timing/screen_rounds_apart"], winner["timing/screen_rounds_apart"]) == (3, 0)
    assert winner["timing/pipeline_share"] == pytest.approx(0.22, abs=0.01)


def test_learning_is_told_by_the_stage_that_saw_it() -> None:
    winner, rejected = _metrics(4), _metrics(3)
    assert (winner["confirmed_epoch_s"], winner["confirmed_baseline_epoch_s"]) == (0.543, 1.31)
    assert winner["confirmed_time_to_accuracy_ratio"] == pytest.approx(2.36, abs=0.01)
    assert winner["training/verify_time_to_accuracy_seeds_not_reached"] == 0
    assert winner["training/verify_baseline_time_to_accuracy_s"] == pytest.approx(3.48)
    assert rejected["training/verify_time_to_accuracy_seeds_not_reached"] == 2
    assert "training/verify_time_to_accuracy_s" not in rejected


def test_health_is_a_metric_of_every_trained_trial() -> None:
    rejected, winner = _metrics(3), _metrics(4)
    assert rejected["training/skipped_steps_share"] == pytest.approx(4 / 90)
    assert (winner["training/skipped_steps_share"], winner["training/non_finite_trainings"]) == (0, 0)
    assert "training/loss_scale" not in winner
    assert "training/non_finite_trainings" not in _metrics(2)


def test_a_stopped_training_leaves_no_mean_of_the_others_and_shortens_none() -> None:
    view = StudyView.of(stopped_events())
    found = trial_metrics(view.trials[STOPPED], view, "accuracy")
    assert (found["val_accuracy"], found["accuracy_delta"]) == (None, None)
    assert found["train_s"] == view.trials[STOPPED].runs[Stage.VERIFY][0].train_s == 1.6
    assert (found["training/seeds"], found["training/stopped_early"]) == (1, 1)
    assert not [name for name in found if "time_to_accuracy" in name]
    del view.trials[STOPPED].runs[Stage.VERIFY][0]
    assert trial_metrics(view.trials[STOPPED], view, "accuracy")["train_s"] is None


def test_health_of_each_training_is_by_seed_and_by_epoch() -> None:
    events = sample_events()
    points = trial_points(StudyView.of(events).trials[3], "accuracy")
    assert ("by_seed/loss_scale_lowest", 8192.0, 0) in points
    assert ("by_seed/skipped_steps_share", 2 / 45, 0) in points
    assert ("by_epoch/skipped_steps/seed_0", 2, 1) in points
    trained = next(event for event in events if isinstance(event, Trained) and event.trial == 3)
    broken = replace(trained, run=replace(trained.run, loss_finite=False))
    assert ("by_seed/non_finite", 1, 0) in trial_points(StudyView.of([broken]).trials[3], "accuracy")


def test_a_point_that_is_not_finite_is_not_sent() -> None:
    trained = next(event for event in sample_events() if isinstance(event, Trained) and event.trial == 4)
    curve = tuple(replace(point, train_loss=math.inf) for point in trained.run.curve)
    broken = replace(trained, run=replace(trained.run, metric=math.nan, curve=curve), delta=math.nan)
    points = trial_points(StudyView.of([broken]).trials[4], "accuracy")
    assert points
    assert all(math.isfinite(value) for _, value, _ in points)
    assert not [name for name, *_ in points if "train_loss" in name]


def test_a_gain_is_a_metric_of_its_own_where_it_is_not_the_speedup() -> None:
    energy, throughput = _metrics(4, objective="energy"), _metrics(4)
    assert energy["screen_gain"] == pytest.approx(6.11 * 0.68)
    assert energy["confirmed_gain"] == pytest.approx(5.94 * 0.68)
    assert "screen_gain" not in throughput
    assert throughput["confirmed_gain"] == throughput["confirmed_speedup"]


def test_the_study_and_the_version_quote_the_confirmation_alone() -> None:
    view = StudyView.of(sample_events())
    study = study_row(view)
    confirmed = view.confirmations[0]
    assert study.metrics["baseline_step_time_ms"] == confirmed.baseline_step_time_ms
    assert study.metrics["baseline_examples_per_s"] == pytest.approx(32 / 2.10 * 1e3)
    assert study.metrics["baseline_val_accuracy"] == pytest.approx(confirmed.baseline_metric)
    assert study.metrics["confirmed_accuracy_sampling_error"] == 0.0031
    assert (study.tags["objective"], study.tags["gain_verdict"]) == ("throughput", "FASTER")
    tags = version_tags(view)
    assert (tags["confirmed_speedup"], tags["confirmed_gain"], tags["gain_verdict"]) == ("5.94", "5.94", "FASTER")
    screened = f"{view.trials[4].speedup.estimate:.5g}"  # type: ignore[union-attr]
    assert screened not in [*tags.values(), *(f"{value:.5g}" for value in study.metrics.values())]


def test_a_comparison_is_a_tag_of_the_study_and_of_both_finalists() -> None:
    view = StudyView.of(sample_events())
    assert comparisons(view) == comparisons(view, 4) == comparisons(view, 5)
    assert trial_row(view.trials[4], view, "accuracy").tags["compared"] == comparisons(view)
    assert comparisons(view, 2) is None
    assert trial_row(view.trials[4], view, "accuracy").tags["share_16bit_from"] == "traced"


def test_every_measured_trial_is_on_the_axes_of_the_charts_the_baseline_at_one_and_zero() -> None:
    """A failed one was not measured; one that was not trained has no accuracy."""
    found = {trial: _metrics(trial) for trial in range(9)}
    assert [trial for trial, metrics in found.items() if "screen_speedup" not in metrics] == [6]
    assert [trial for trial, metrics in found.items() if "accuracy_delta" in metrics] == [0, 3, 4, 5]
    assert (found[0]["screen_speedup"], found[0]["accuracy_delta"]) == (1, 0)


@pytest.mark.parametrize("study", [{}, {"on_target": False}, {"objective": "energy"}])
def test_the_page_that_compares_runs_begins_with_batch_size_and_a_figure_of_all_of_them(study: dict[str, Any]) -> None:
    """It takes the first names in alphabetical order, of parameters and of metrics."""
    view = StudyView.of(sample_events(**study))
    rows = [trial_row(trial, view, "accuracy") for trial in view.trials.values() if trial.probe]
    trained = [row for row in rows if "accuracy_delta" in row.metrics]
    assert {min(row.params) for row in rows} == {"batch_size"}
    assert {min(row.metrics) for row in trained} == {"accuracy_delta"}
    shared = set.intersection(*(set(row.metrics) for row in rows))
    assert sorted(shared)[0] == "screen_examples_per_s"
    searched = {"batch_size", "policy", "steps_per_execution", "widths", "xla"}
    assert all(sorted(row.params)[:3] == ["batch_size", "policy", "steps_per_execution"] for row in rows)
    assert all(searched <= set(row.params) for row in rows)


def test_a_parameter_is_a_number_in_every_trial_or_a_word_in_every_trial() -> None:
    """A column of both is a column of words in MLflow's charts."""
    view = StudyView.of(sample_events())
    rows = [trial_row(trial, view, "accuracy") for trial in view.trials.values()]
    for name in {name for row in rows for name in row.params}:
        values = [row.params[name] for row in rows if name in row.params]
        assert len({value.replace(".", "", 1).isdigit() for value in values}) == 1, (name, values)


def test_every_metric_is_a_number_of_a_name_that_mlflow_takes() -> None:
    view = StudyView.of(sample_events(objective="energy", relative=True))
    rows = [trial_row(trial, view, "accuracy") for trial in view.trials.values()]
    for built in [*rows, study_row(view)]:
        assert all(isinstance(value, int | float) for value in built.metrics.values())
        assert all(re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*(/[a-z0-9]+(_[a-z0-9]+)*)?", name) for name in built.metrics)
