from __future__ import annotations

import csv
import io
import re

import pytest

from autotune.explain.why import why
from autotune.record.view import StudyView
from autotune.report.table import trials_csv
from tests.sample_study import sample_events


def read(view: StudyView) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(trials_csv(view))))


def test_one_row_a_trial_failures_included():
    table = read(StudyView.of(sample_events()))
    assert [row["trial"] for row in table] == [str(n) for n in range(9)]
    assert table[6]["state"] == "failed"
    assert table[6]["failure_kind"] == "compile"
    assert table[6]["screen_step_time_ms"] == ""


def test_screened_and_confirmed_figures_have_columns_of_their_own():
    row = read(StudyView.of(sample_events()))[4]
    assert float(row["screen_speedup_ratio"]) == 6.11
    assert float(row["confirm_speedup_ratio"]) == 5.94
    assert float(row["screen_step_time_ms"]) == pytest.approx(2.75)
    assert float(row["screen_examples_per_s"]) == pytest.approx(256 / 2.75e-3, rel=1e-6)
    assert float(row["confirm_metric_delta"]) == pytest.approx(-0.0018)
    assert row["winner"] == "true"


def test_unknown_is_empty_and_zero_is_zero():
    table = read(StudyView.of(sample_events()))
    assert table[2]["verify_metric"] == "", "a dominated trial was never trained"
    assert table[2]["skipped_steps"] == ""
    assert table[4]["skipped_steps"] == "0"
    assert table[3]["skipped_steps"] == "4"
    assert table[4]["predicted_target_step_time_ms"] == ""


def test_every_trial_says_why_where_that_can_be_said():
    view = StudyView.of(sample_events())
    told = [row["why"] for row in read(view)]
    assert told == [why(view, trial) for _, trial in sorted(view.trials.items())]
    assert told[6].startswith("failed (compile)")


def test_what_was_asked_stands_beside_what_was_in_force():
    baseline = read(StudyView.of(sample_events()))[0]
    assert (baseline["xla_asked"], baseline["xla_in_force"]) == ("auto", "on")


def test_a_study_without_trials_has_the_same_header():
    whole, empty = trials_csv(StudyView.of(sample_events())), trials_csv(StudyView())
    assert empty == whole.splitlines()[0] + "\n"


def test_times_rates_and_sizes_have_a_unit_in_the_header():
    header = trials_csv(StudyView()).strip().split(",")
    assert {"batch_size_examples", "build_s", "compile_s", "peak_memory_mb", "screen_examples_per_s"} <= set(header)
    times = [name for name in header if "time" in name and not re.search("_(verdict|ratio|seeds)", name)]
    assert not [name for name in times if not name.endswith(("_ms", "_s"))]
    assert len(set(header)) == len(header)


def test_disturbed_pairs_are_counted_by_stage_and_so_is_what_the_clock_takes():
    table = read(StudyView.of(sample_events()))
    assert (table[5]["screen_pairs"], table[5]["screen_suspicious_pairs"]) == ("12", "3")
    assert (table[4]["confirm_pairs"], table[4]["confirm_suspicious_pairs"]) == ("36", "2")
    assert table[2]["confirm_suspicious_pairs"] == "", "it was not confirmed"
    assert table[2]["screen_suspicious_pairs"] == "0"
    assert (table[3]["screen_rounds_apart"], table[2]["screen_rounds_apart"]) == ("3", "0")
    assert float(table[4]["confirm_sync_share"]) == pytest.approx(0.06 / (2.10 * 0.98 * 48))
    assert float(table[0]["pipeline_share"]) == pytest.approx(0.075, abs=0.01)


def test_learning_has_its_time_and_a_seed_that_did_not_get_there_leaves_no_mean():
    table = read(StudyView.of(sample_events()))
    assert float(table[4]["confirm_epoch_s"]) == 0.543
    assert float(table[4]["time_to_accuracy_ratio"]) == pytest.approx(2.36, abs=0.01)
    assert (table[3]["time_to_accuracy_s"], table[3]["time_to_accuracy_seeds_not_reached"]) == ("", "2")
    assert table[2]["time_to_accuracy_seeds"] == "", "it was not trained"


def test_health_of_sixteen_bit_training_has_columns():
    rejected, winner = (read(StudyView.of(sample_events()))[trial] for trial in (3, 4))
    assert (rejected["loss_scale"], rejected["loss_scale_lowest"]) == ("16384", "8192")
    assert float(rejected["skipped_steps_share"]) == pytest.approx(4 / 90)
    assert rejected["non_finite_trainings"] == "0"
    assert (winner["loss_scale"], winner["skipped_steps_share"]) == ("", "0")
    assert 0.99 < float(winner["flops_share_16bit"]) < 1
    assert winner["flops_share_16bit_from"] == "traced"


def test_a_gain_has_columns_of_its_own_and_equals_the_speedup_of_throughput():
    row = read(StudyView.of(sample_events()))[4]
    assert (row["objective"], row["confirm_gain_ratio"]) == ("throughput", row["confirm_speedup_ratio"])
    row = read(StudyView.of(sample_events(objective="energy")))[4]
    assert (row["objective"], row["confirm_gain_verdict"]) == ("energy", "FASTER")
    assert float(row["confirm_gain_ratio"]) == pytest.approx(5.94 * 0.68)
    assert float(row["screen_gain_ratio"]) == pytest.approx(6.11 * 0.68)
    row = read(StudyView.of(sample_events(objective="time_to_accuracy")))[2]
    assert row["screen_gain_ratio"] == "", "a speedup is no gain there"
