"""Real full and read-only file systems under a study, which goes on once there is room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.record import events as ev
from autotune.record.lines import FILE_NAME
from tests.end_to_end.person import Person
from tests.faults.disk import fill, make_room
from tests.faults.planned import Planned
from tests.faults.rehearsed import Rehearsed, told

pytestmark = pytest.mark.slow

Mount = Callable[[Path, str], Path]

# The record of a small study takes 0.1 MB, its report and export 0.3 MB (an interactive page without its library).
_SIZE = "size=16m"


@pytest.mark.parametrize(
    "place",
    [
        "probe.screen",
        pytest.param("train.confirm", marks=pytest.mark.long),
        pytest.param("export", marks=pytest.mark.long),
    ],
)
def test_a_disk_that_fills_up_is_one_line_and_the_study_goes_on_once_there_is_room(
    person: Person, undisturbed: Rehearsed, mounted: Mount, place: str
) -> None:
    disk = mounted(person.folder / "outputs", _SIZE)
    study = Rehearsed(person)
    study.plan([Planned(place, "fills_the_disk", times=1)])
    done = study.run()
    assert done.returncode in (1, 2), done.stdout + done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "No space left on device" in done.stderr
    before = (study.folder / FILE_NAME).read_bytes()
    measured = [event for event in study.events if isinstance(event, (ev.Probed, ev.Trained))]

    make_room(disk)
    assert study.run("study.resume=true").returncode == 0
    assert (study.folder / FILE_NAME).read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert [event for event in study.events if isinstance(event, (ev.Probed, ev.Trained))][: len(measured)] == measured
    assert told(study.events) == told(undisturbed.events)


def test_a_disk_without_room_for_a_record_is_one_line(person: Person, mounted: Mount) -> None:
    disk = mounted(person.folder / "outputs", "size=64k")
    fill(disk)
    study = Rehearsed(person)
    done = study.run()
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1, done.stderr
    assert "No space left on device" in done.stderr


def test_an_output_folder_on_a_read_only_disk_is_refused_before_anything_is_measured(
    person: Person, mounted: Mount
) -> None:
    mounted(person.folder / "outputs", "ro")
    done = Rehearsed(person).run()
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "output.root must be" in done.stderr


@pytest.mark.long  # a home that cannot be written is tried with such a place always
def test_a_place_for_temporary_files_without_room_is_done_without(
    person: Person, undisturbed: Rehearsed, mounted: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = mounted(person.folder.parent / "small", "size=64k")
    fill(place)
    monkeypatch.setenv("TMPDIR", str(place))
    study = Rehearsed(person)
    assert study.run().returncode == 0, study.done
    assert told(study.events) == told(undisturbed.events)


def test_a_temporary_folder_that_a_candidate_fills_costs_that_candidate(
    person: Person, mounted: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = mounted(person.folder.parent / "small", "size=8m")
    monkeypatch.setenv("TMPDIR", str(place))
    study = Rehearsed(person)
    study.plan([Planned("probe.screen", "fills_its_temporary_folder", batch=32)])
    assert study.run().returncode == 0
    [failed] = [event for event in study.events if isinstance(event, ev.TrialFailed)]
    assert "No space left on device" in failed.failure.message
    assert list(place.iterdir()) == [], "what it wrote is gone"
