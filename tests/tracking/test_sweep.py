"""Studies of one multirun are found together."""

from __future__ import annotations

from dataclasses import replace

from autotune.record.events import Event, StudyStarted
from autotune.record.lines import decode, encode
from autotune.record.view import StudyView
from autotune.sweep import Sweep
from autotune.tracking.rows import trial_row
from autotune.tracking.summary import description, study_row
from tests.sample_study import sample_events

SWEEP = Sweep("2026-11-30 08:46:14 over model", "model=cifar_mlp")


def of_sweep(events: list[Event]) -> list[Event]:
    return [replace(event, sweep=SWEEP) if isinstance(event, StudyStarted) else event for event in events]


def test_all_runs_of_a_study_carry_the_multiruns_name() -> None:
    view = StudyView.of(of_sweep(sample_events()))
    for built in (study_row(view), trial_row(view.trials[3], view, "accuracy")):
        assert (built.tags["sweep"], built.tags["sweep_job"]) == (SWEEP.name, SWEEP.job)
    alone = study_row(StudyView.of(sample_events())).tags
    assert not {"sweep", "sweep_job"} & set(alone)


def test_the_studys_description_says_which_job_it_is_from_its_beginning_on() -> None:
    events = of_sweep(sample_events())
    for view in (StudyView.of(events[:1]), StudyView.of(events)):
        assert "Job model=cifar_mlp of the multirun 2026-11-30 08:46:14 over model" in description(view)
    assert "multirun" not in description(StudyView.of(sample_events()))


def test_the_record_keeps_it_and_an_older_record_has_none() -> None:
    started = of_sweep(sample_events())[0]
    line = encode(started, 0.0)
    assert decode(line) == started
    older = line.replace(',"sweep":{"name":"2026-11-30 08:46:14 over model","job":"model=cifar_mlp"}', "")
    assert older != line
    event = decode(older)
    assert isinstance(event, StudyStarted)
    assert event.sweep is None
