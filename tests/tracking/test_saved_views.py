"""Views are made of names that the runs really have."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from autotune.record.view import StudyView
from autotune.tracking import saved_views
from autotune.tracking.rows import Row, trial_row
from autotune.tracking.saved_views import LAST, STUDIES, TAG, TRIALS, last_study_view, made_ms, standing_views
from autotune.tracking.summary import study_row
from tests.sample_study import sample_events

MOST = 5000  # characters of an experiment's tag in an older server; MLflow 3.17 takes 20,000

# Only a study of a multirun has the one, and MLflow makes the other itself.
ELSEWHERE = {"tags.`sweep`", "attributes.`Models`"}


def state(tag: str) -> dict[str, Any]:
    envelope = json.loads(tag)
    assert set(envelope) == {"name", "createdAt", "state"}
    return dict(json.loads(envelope["state"]))


def kept(rows: list[Row]) -> set[str]:
    found = {f"params.`{name}`" for row in rows for name in row.params}
    found |= {f"metrics.`{name}`" for row in rows for name in row.metrics}
    return found | {f"tags.`{name}`" for row in rows for name in row.tags}


@pytest.fixture
def rows() -> dict[str, list[Row]]:
    view = StudyView.of(sample_events())
    return {
        TRIALS: [trial_row(trial, view, "accuracy") for trial in view.trials.values()],
        STUDIES: [study_row(view)],
    }


@pytest.mark.parametrize("key", [TRIALS, STUDIES])
def test_every_column_and_every_axis_is_one_that_the_runs_have(key: str, rows: dict[str, list[Row]]) -> None:
    shown = state(standing_views()[TAG + key])
    have = kept(rows[key]) | ELSEWHERE
    assert set(shown["selectedColumns"]) <= have
    assert shown["orderByKey"] in have | {"attributes.start_time"}
    for chart in shown["compareRunCharts"]:
        metrics = chart.get("selectedMetrics", []) + [chart.get(axis, {}).get("key") for axis in ("xaxis", "yaxis")]
        named = {f"metrics.`{name}`" for name in [*metrics, chart.get("metricKey")] if name}
        assert named | {f"params.`{name}`" for name in chart.get("selectedParams", [])} <= have
        assert named
    assert set(re.findall(r"tags\.(\w+)", shown["searchFilter"])) == {"role"}


@pytest.mark.parametrize("tag", [*standing_views().values(), last_study_view("2026-11-30/01-17-15_net", 5)])
def test_a_view_fits_into_a_tag_of_an_older_server(tag: str) -> None:
    assert len(tag) < MOST


def test_every_chart_is_in_a_section_that_is_shown() -> None:
    shown = state(standing_views()[TAG + TRIALS])
    sections = {section["uuid"]: section for section in shown["compareRunSections"]}
    assert all(sections[chart["metricSectionId"]]["display"] for chart in shown["compareRunCharts"])
    assert len({chart["uuid"] for chart in shown["compareRunCharts"]}) == len(shown["compareRunCharts"])


def test_the_last_studys_view_is_of_that_study_and_says_when_it_began() -> None:
    tag = last_study_view("2026-11-30/01-17-15_net", 1772360100000)
    assert "tags.study = '2026-11-30/01-17-15_net'" in state(tag)["searchFilter"]
    assert made_ms(tag) == 1772360100000
    assert state(tag) | {"searchFilter": ""} == state(standing_views()[TAG + TRIALS]) | {"searchFilter": ""}


@pytest.mark.parametrize("tag", ["", "{}", "[]", "cut in the mid", '{"createdAt": "then"}'])
def test_a_tag_that_cannot_be_read_is_of_no_time(tag: str) -> None:
    assert made_ms(tag) == 0


def test_names_of_views_are_told_apart() -> None:
    assert len({saved_views.TRIALS, saved_views.STUDIES, LAST}) == 3
