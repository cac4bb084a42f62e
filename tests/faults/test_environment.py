"""Surroundings that are not as they should be, for whole studies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.record import events as ev
from tests.end_to_end.person import Person
from tests.faults.disk import fill
from tests.faults.rehearsed import CLOCK, Rehearsed, told
from tests.hardware import fake_driver

pytestmark = pytest.mark.slow

Mount = Callable[[Path, str], Path]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    fake_driver.build(folder)
    return folder


def test_a_home_that_cannot_be_written_no_utf_8_and_no_room_for_temporary_files(
    person: Person, undisturbed: Rehearsed, mounted: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once, in a folder whose name is not ASCII and holds a space and a quote, and without a terminal."""
    home = mounted(person.folder.parent / "home", "ro")
    temporary = mounted(person.folder.parent / "small", "size=64k")
    fill(temporary)
    for name, value in {"HOME": str(home), "TMPDIR": str(temporary), "LC_ALL": "C", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    study = Rehearsed(person)
    done = study.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert told(study.events) == told(undisturbed.events)


def test_a_path_that_the_locale_cannot_say(
    person: Person, undisturbed: Rehearsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python then holds the bytes of the folder's name as lone surrogates, which UTF-8 does not have."""
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)
    study = Rehearsed(person)
    done = study.run()
    assert done.returncode == 0, done.stderr
    assert told(study.events) == told(undisturbed.events)
    assert (study.folder / "export" / "best.yaml").is_file()


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        pytest.param("no_driver", None, marks=pytest.mark.long),
        ("no_permission", "NVIDIA GeForce RTX 2080 Ti is here, but TensorFlow cannot use it"),
        pytest.param("mig", "is here, but TensorFlow cannot use it", marks=pytest.mark.long),
    ],
)
def test_a_gpu_that_cannot_be_used_or_read_is_said_and_the_study_goes_on(
    person: Person,
    driver: Path,
    undisturbed: Rehearsed,
    monkeypatch: pytest.MonkeyPatch,
    scenario: str,
    said: str | None,
) -> None:
    """A driver library of our own, through the true pynvml; the framework of a rehearsed study sees no GPU."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver))
    monkeypatch.setenv("FAKE_NVML_SCENARIO", scenario)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    study = Rehearsed(person)
    done = study.run()
    assert done.returncode == 0, done.stderr
    assert told(study.events) == told(undisturbed.events)
    notes = study.notes("device")
    assert said is None or any(said in note for note in notes), notes


def test_a_clock_on_the_wall_that_jumps_moves_no_budget(
    person: Person, undisturbed: Rehearsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Years back and forth; what the record tells of the study's time goes on evenly."""
    monkeypatch.setenv(CLOCK, "1")
    study = Rehearsed(person)
    assert study.run("search.budget=10m").returncode == 0
    stamps = [json.loads(line)["at_s"] for line in (study.folder / "record.jsonl").read_text().splitlines()]
    assert stamps == sorted(stamps)
    assert stamps[-1] < 120
    assert [e.winner for e in study.events if isinstance(e, ev.StudyDecided)] == [
        e.winner for e in undisturbed.events if isinstance(e, ev.StudyDecided)
    ]


def test_a_reader_that_goes_away_costs_nothing(person: Person, undisturbed: Rehearsed) -> None:
    """As `python -m autotune ... | head -1` does."""
    study = Rehearsed(person)
    study.plan([])
    process = study.start()
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=120)
    study.assert_nothing_runs()
    assert "Traceback" not in err
    assert process.returncode in (0, 141), err
    assert told(study.events) == told(undisturbed.events)


def test_standard_input_output_and_error_that_are_closed(person: Person, undisturbed: Rehearsed) -> None:
    study = Rehearsed(person)
    closing = (
        "import os, sys; [os.close(n) for n in range(3)]; os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    with person.start("-c", closing, *study.command()) as process:
        process.communicate(timeout=120)
    study.assert_nothing_runs()
    assert process.returncode == 0
    assert told(study.events) == told(undisturbed.events)
