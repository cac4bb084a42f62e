"""Layers that stay in float32: shown wherever a trial's policy is."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from autotune.console.columns import cells_of
from autotune.console.lines import lines_of
from autotune.record.events import Event, HarmMeasured, Probed
from autotune.record.view import StudyView
from autotune.report import figures, markdown, phrases, table
from autotune.report.measure import Measure
from autotune.tracking.names import run_name
from autotune.tracking.rows import candidate_params, row
from autotune.trial import Failure, FailureKind, LayerHarm, Policy
from tests import sample_values as values
from tests.sample_study import sample_events

TRIAL = 7
POLICY = "mixed_float16 (float32: dense_2, norm)"
HARMS = (LayerHarm("dense_1", 0.012, 64), LayerHarm("dense_2", 0.5, 64), LayerHarm("norm", None, 8))


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """The sample study with one trial that leaves two layers in float32."""
    asked = replace(values.CANDIDATES[TRIAL], policy=Policy("mixed_float16", ("dense_2", "norm")))
    monkeypatch.setitem(values.CANDIDATES, TRIAL, asked)
    return list(sample_events())


def test_every_sink_names_them(events: list[Event]) -> None:
    view = StudyView.of(events)
    trial, baseline = view.trials[TRIAL], view.trials[0].candidate
    assert str(trial.candidate).startswith(f"{POLICY} batch=")
    assert figures.policy(trial) == POLICY
    assert f"policy {POLICY} (was float32)" in phrases.differences(trial.candidate, baseline)
    assert POLICY in run_name(TRIAL, trial.candidate, baseline)
    assert row(candidate_params(trial.candidate), {}, {}, set()).params["policy"] == POLICY
    rows = {int(one["trial"]): one for one in csv.DictReader(io.StringIO(table.trials_csv(view)))}
    assert rows[TRIAL]["policy"] == POLICY
    assert rows[0]["policy"] == "float32"
    assert sum(POLICY in line for line in markdown.trials(view)) == 1
    probed = next(event for event in events if isinstance(event, Probed) and event.trial == TRIAL)
    assert POLICY in lines_of(probed, view)[0][2]


def test_a_table_that_redraws_says_how_many_they_are(events: list[Event]) -> None:
    view = StudyView.of(events)
    cells = cells_of(view, Measure.of(view), view.trials[TRIAL])
    assert (cells["policy"], cells["policy_short"]) == ("mixed_float16 +2 f32", "mixed_fp16 +2 f32")
    others = cells_of(view, Measure.of(view), view.trials[1])
    assert "f32" not in others["policy"].replace("float32", "")


def test_harm_is_told_with_the_most_harmful_first(events: list[Event]) -> None:
    view = StudyView.of(events)
    candidate = view.trials[TRIAL].candidate
    [(_, trial, text)] = lines_of(HarmMeasured(TRIAL, candidate, HARMS, None, 2.0), view)
    assert trial == f"{TRIAL}"
    assert text == (
        "harm of each layer alone in mixed_float16, relative error of the gradient: norm not finite, dense_2 0.5,"
        " dense_1 0.012"
    )
    failed = HarmMeasured(TRIAL, candidate, (), Failure(FailureKind.OOM, "no memory"), 2.0)
    assert lines_of(failed, view) == []
