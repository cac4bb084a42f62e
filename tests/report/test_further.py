"""Settings that are searched only when asked for: shown wherever a trial is, and nowhere for who did not ask."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from autotune.console.columns import cells_of, fit
from autotune.console.lines import lines_of
from autotune.record.events import Event, Probed, SpacePlanned
from autotune.record.view import StudyView, TrialView
from autotune.report import figures, markdown, phrases, table, tradeoff
from autotune.report.measure import Measure
from autotune.report.objective import Goal
from autotune.tracking.names import run_name
from autotune.tracking.rows import candidate_params
from autotune.trial import Candidate, Pipeline
from tests import sample_values as values
from tests.sample_study import sample_events

TRIAL = 7
SETTINGS = "accumulation 4, tf32 off, pipeline device"


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """The sample study with one trial that has them all."""
    asked = replace(values.CANDIDATES[TRIAL], accumulation=4, tf32=False, pipeline=Pipeline.DEVICE)
    monkeypatch.setitem(values.CANDIDATES, TRIAL, asked)
    return list(sample_events())


def trial_of(view: StudyView) -> TrialView:
    return view.trials[TRIAL]


def test_every_sink_shows_them(events: list[Event]) -> None:
    view = StudyView.of(events)
    trial, measure, goal = trial_of(view), Measure.of(view), Goal.of(view)
    cells = [cells_of(view, measure, one) for one in view.trials.values()]
    assert [row["further"] for row in cells].count(SETTINGS) == 1
    assert "further" in fit(measure, goal, cells, 250)
    assert SETTINGS in "\n".join(markdown.trials(view))
    assert SETTINGS in tradeoff._details(view, trial)
    of_trial = list(csv.DictReader(io.StringIO(table.trials_csv(view))))[TRIAL]
    assert (of_trial["accumulation"], of_trial["tf32_asked"], of_trial["pipeline"]) == ("4", "off", "device")
    assert run_name(TRIAL, trial.candidate, None).endswith(" accumulation-4 tf32-off pipeline-device")
    further = {"accumulation": "4", "tf32": "off", "pipeline": "device"}
    assert further.items() <= candidate_params(trial.candidate).items()
    probed = next(event for event in events if isinstance(event, Probed) and event.trial == TRIAL)
    assert SETTINGS in " ".join(text for _, _, text in lines_of(probed, view))
    changed = phrases.differences(trial.candidate, values.CANDIDATES[0])
    assert changed[-3:] == ["accumulation 4 (was 1)", "TF32 off (was default)", "pipeline device (was host)"]


def test_who_did_not_ask_sees_nothing_of_them() -> None:
    view = StudyView.of(list(sample_events()))
    measure, goal = Measure.of(view), Goal.of(view)
    cells = [cells_of(view, measure, one) for one in view.trials.values()]
    assert "further" not in fit(measure, goal, cells, 250)
    assert "further settings" not in markdown.trials(view)[0]
    for trial in view.trials.values():
        known = {"policy", "batch_size", "xla", "widths", "steps_per_execution"}
        assert set(candidate_params(trial.candidate)) == known
        assert not any(word in str(trial.candidate) for word in ("accumulation", "tf32", "pipeline"))


def test_the_space_tells_what_else_is_searched(events: list[Event]) -> None:
    planned = next(event for event in events if isinstance(event, SpacePlanned))
    assert phrases.searched_further(planned.space) == []
    space = replace(planned.space, accumulation=(1, 4), tf32=(None, False), pipeline=("host", "device"))
    assert phrases.searched_further(space) == [
        ("accumulation", ["1", "4"]),
        ("TF32", ["default", "off"]),
        ("pipeline", ["host", "device"]),
    ]
    text = " ".join(text for _, _, text in lines_of(replace(planned, space=space), StudyView.of(events)))
    assert "; accumulation 1, 4; TF32 default, off; pipeline host, device" in text


def test_float32_is_named_by_what_its_products_run_in(events: list[Event]) -> None:
    view = StudyView.of(events)
    assert figures.policy(view.trials[0]) == "float32 (TF32)"
    assert figures.policy(trial_of(view)) == "float32"
    assert figures.policy(view.trials[1]) == "mixed_float16"


def test_a_candidate_is_named_by_them() -> None:
    plain = Candidate(values.F32, 32, values.Xla.OFF, (8,))
    assert str(replace(plain, accumulation=2, tf32=True)) == f"{plain} accumulation=2 tf32=on"
    assert (plain.micro_batch, replace(plain, accumulation=4).micro_batch) == (32, 8)
