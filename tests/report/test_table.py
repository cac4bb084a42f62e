from __future__ import annotations

import csv
import io

import pytest

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


def test_what_was_asked_stands_beside_what_was_in_force():
    baseline = read(StudyView.of(sample_events()))[0]
    assert (baseline["xla_asked"], baseline["xla_in_force"]) == ("auto", "on")


def test_a_study_without_trials_has_the_same_header():
    whole, empty = trials_csv(StudyView.of(sample_events())), trials_csv(StudyView())
    assert empty == whole.splitlines()[0] + "\n"


def test_times_rates_and_sizes_have_a_unit_in_the_header():
    header = trials_csv(StudyView()).strip().split(",")
    assert {"batch_size_examples", "build_s", "compile_s", "peak_memory_mb", "screen_examples_per_s"} <= set(header)
    assert not [name for name in header if "time" in name and not name.endswith("_ms")]
