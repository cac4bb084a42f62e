"""Which earlier study tells where to begin, and what of it is taken over: an order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autotune.config.compose import to_yaml_dict
from autotune.config.objective import Objective
from autotune.config.schema import Config
from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, read
from autotune.record.record import Record
from autotune.record.view import StudyView
from autotune.tasks.warm_start import earlier_study
from autotune.trial import TrialState
from tests.sample_study import sample_events
from tests.tasks.test_resume import DEVICE, beginning, made


def kept(config: Config, name: str, began_s: float, events: list[ev.Event] | None = None, **other: Any) -> Path:
    """The record of a study that has ended, with what a sample study found."""
    folder = Path(config.output.root) / "2026-01-01" / name
    folder.mkdir(parents=True)
    record = Record(folder / FILE_NAME, (), lambda: 42.0)
    record.append(beginning(config, began_s, study=name, **other))
    for event in events if events is not None else found():
        record.append(event)
    record.close()
    return folder / FILE_NAME


def found() -> list[ev.Event]:
    return [event for event in sample_events() if not isinstance(event, ev.StudyStarted)]


def asked(config: Config, own: Path | None = None) -> ev.EarlierStudy:
    return earlier_study(config, beginning(config, 9000.0), own or Path(config.output.root) / "none")


def test_the_winner_of_the_latest_comes_first_and_none_that_was_less_accurate(tmp_path):
    config = made(tmp_path)
    kept(config, "old", 1000.0)
    record = kept(config, "new", 2000.0)
    view = StudyView.of(read(record))
    told = asked(config)
    assert told.study == "new"
    assert told.candidates[0] == view.winner.candidate
    assert 1 <= len(told.candidates) <= 3
    refused = (TrialState.REJECTED, TrialState.FAILED, TrialState.SLOWER)
    assert not {t.candidate for t in view.trials.values() if t.is_baseline or t.state in refused} & set(told.candidates)
    assert asked(config, own=record).study == "old", "never one's own"


def test_without_an_earlier_study_there_is_no_order(tmp_path):
    assert asked(made(tmp_path)) == ev.EarlierStudy(None, ())


@pytest.mark.parametrize(
    "other",
    [
        {"device": DEVICE | {"fingerprint": {"cpu_model": "another", "usable_cores": 2}}},
        {"code": {"autotune": "c1", "mine.net": "m2"}},
    ],
)
def test_another_device_or_model_says_nothing(tmp_path, other):
    config = made(tmp_path)
    kept(config, "one", 1000.0, **other)
    assert asked(config).study is None


@pytest.mark.parametrize("key", ["train.batch_size", "train.optimizer", "objective.name", "data.name", "model.widths"])
def test_another_question_says_nothing(tmp_path, key):
    config, other = made(tmp_path), made(tmp_path)
    group, name = key.split(".")
    values = {"batch_size": 48, "optimizer": "adam", "name": "another", "widths": [5]}
    value = Objective.memory if key == "objective.name" else values[name]
    setattr(getattr(other, group), name, value)
    assert to_yaml_dict(other) != to_yaml_dict(config)
    kept(other, "one", 1000.0)
    assert asked(config).study is None


@pytest.mark.parametrize("search", [{"trials": 99, "seed": 7}, {"budget": "2h"}, {"max_batch_factor": 2}])
def test_more_or_fewer_trials_are_the_same_question(tmp_path, search):
    kept(made(tmp_path, **search), "one", 1000.0, code={"autotune": "another version of this", "mine.net": "m1"})
    assert asked(made(tmp_path)).study == "one"


def test_a_study_that_found_nothing_or_cannot_be_read_gives_way_to_the_one_before(tmp_path):
    config = made(tmp_path)
    kept(config, "good", 1000.0)
    kept(config, "empty", 2000.0, events=[])
    damaged = kept(config, "damaged", 3000.0)
    damaged.write_text(damaged.read_text() + "no line of a record\n")
    assert asked(config).study == "good"
