"""A study whose processes are killed goes on, with the very command, and comes to its end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, read, read_lines
from autotune.trial import Stage
from tests.end_to_end.person import STUDY, Person

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

_MEASURED = (ev.Probed, ev.Trained)


def killed_after(person: Person, folder: Path, count: int, *arguments: str) -> None:
    """Start a study and kill it with SIGKILL once its record holds so many measurements."""
    with person.start("-m", "autotune", *STUDY, *arguments) as process:
        while measured(folder) < count:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()


def measured(folder: Path) -> int:
    path = folder / FILE_NAME
    return sum(f'"event":"{kind.__name__}"' in line for kind in _MEASURED for line in text(path).splitlines())


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def gone(person: Person) -> bool:
    deadline = time.monotonic() + 20
    while person.running() and time.monotonic() < deadline:
        time.sleep(0.2)
    return not person.running()


@pytest.mark.long
def test_a_study_whose_parent_is_killed_twice_goes_on_and_ends(tmp_path: Path) -> None:
    person = Person(tmp_path)
    folder = tmp_path / "outputs" / "mine"
    options = ("output.name=mine", "study.resume=auto", "tracking=off")
    killed_after(person, folder, 3, *options)
    assert gone(person), "the worker ends with its parent"
    before = list(read(folder / FILE_NAME))
    killed_after(person, folder, measured(folder) + 2, *options)
    assert gone(person)
    done: subprocess.CompletedProcess[str] = person.autotune(*STUDY, *options)
    assert done.returncode in (0, 3), done.stderr
    assert "resumed" in done.stdout
    events = list(read(folder / FILE_NAME))
    assert [event for event in before if isinstance(event, _MEASURED)] == [
        event for event in events if isinstance(event, _MEASURED)
    ][: sum(isinstance(event, _MEASURED) for event in before)], "what was measured stands"
    screened = [e.trial for e in events if isinstance(e, ev.Probed | ev.TrialFailed) and e.stage is Stage.SCREEN]
    ended = any(isinstance(e, ev.Note) and e.topic == "budget" and "screening ended" in e.text for e in events)
    trials = len(screened) if ended else 3  # on a busy machine the budget may end screening
    assert sorted(screened) == list(range(1, trials + 1)), "the trials are a total, and none is measured twice"
    trained = [(e.trial, e.stage, e.run.seed) for e in events if isinstance(e, ev.Trained)]
    assert len(trained) == len(set(trained)), "no seed is trained twice"
    decided = [e for e in events if isinstance(e, ev.StudyDecided)]
    assert len(decided) == 1
    assert decided[0].duration_s <= 200
    stamps = [line.at_s for line in read_lines(folder / FILE_NAME)]
    assert stamps == sorted(stamps)
    assert (folder / "report" / "summary.md").is_file()
    again = person.autotune(*STUDY, *options[:1], "study.resume=true")
    assert again.returncode == 2
    assert "is finished" in again.stderr
