"""One study that is killed, interrupted and terminated at every stage, and resumed by the very command each time."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import psutil
import pytest

from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, read_lines
from tests.end_to_end.person import Person
from tests.faults.rehearsed import Rehearsed, hang, told

pytestmark = pytest.mark.slow

PROMISE_S = 10.0


def worker_of(process: subprocess.Popen[str]) -> psutil.Process:
    """The child that serves requests, and not its guard."""
    return next(child for child in psutil.Process(process.pid).children() if "-c" in child.cmdline())


@pytest.mark.parametrize(
    ("place", "sent", "status"),
    [
        ("open", signal.SIGINT, 130),
        ("start", signal.SIGTERM, 143),
    ],
)
def test_before_anything_is_measured_a_signal_leaves_nothing(
    person: Person, place: str, sent: signal.Signals, status: int
) -> None:
    study = Rehearsed(person)
    process = hang(study, place)
    process.send_signal(sent)
    out, err = process.communicate(timeout=PROMISE_S)
    assert (process.returncode, out, err) == (status, "", "autotune: interrupted\n")
    study.assert_nothing_runs()
    assert not study.folder.exists()


@pytest.mark.long
def test_one_study_outlives_every_signal_at_every_stage(person: Person, undisturbed: Rehearsed) -> None:
    study = Rehearsed(person)
    ends = [
        ("probe.baseline", "parent"),
        ("train.baseline", "both"),
        ("probe.screen", "interrupt"),
        ("train.verify", "terminate"),
        ("probe.confirm", "worker"),
        ("train.confirm", "hang up"),
        ("inspect", "interrupt"),
        ("evaluate", "interrupt"),
        ("export", "parent"),
        ("reload", "terminate"),
    ]
    before: list[ev.Event] = []
    for place, what in ends:
        process = hang(study, place)
        ended(process, what)
        study.assert_nothing_runs()
        measured = [line.event for line in read_lines(study.folder / FILE_NAME)]
        measured = [event for event in measured if isinstance(event, (ev.Probed, ev.Trained))]
        assert measured[: len(before)] == before, f"{what} at {place} lost something"
        before = measured
    study.plan([])
    assert study.run("study.resume=auto", "study.accept_changes=true").returncode == 0
    assert told(study.events) == told(undisturbed.events)


def ended(process: subprocess.Popen[str], what: str) -> None:
    """Do it to a session, and see it end as it should."""
    statuses = {"interrupt": (signal.SIGINT, 130), "terminate": (signal.SIGTERM, 143), "hang up": (signal.SIGHUP, 129)}
    began = time.monotonic()
    if what in statuses:
        sent, status = statuses[what]
        process.send_signal(sent)
        process.communicate(timeout=60)
        assert process.returncode == status
        assert what == "interrupt" or time.monotonic() - began < PROMISE_S
        return
    if what == "both":
        worker_of(process).kill()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.long  # one that dies at every place is tried always
def test_a_worker_that_somebody_kills_is_replaced_and_nothing_else_happens(
    person: Person, undisturbed: Rehearsed
) -> None:
    study = Rehearsed(person)
    process = hang(study, "train.verify")
    worker_of(process).kill()
    process.communicate(timeout=60)
    assert process.returncode == 0
    study.assert_nothing_runs()
    assert told(study.events) == told(undisturbed.events)


def test_a_study_that_is_killed_before_its_report_is_written_gets_its_report(
    person: Person, undisturbed: Rehearsed
) -> None:
    """The answer and the export are in the record by then."""
    study = Rehearsed(person)
    process = study.start("study.resume=auto")
    record, report = study.folder / FILE_NAME, study.folder / "report" / "summary.md"
    while not record.exists() or b'"event":"Exported"' not in record.read_bytes():
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    study.assert_nothing_runs()
    if report.exists():
        pytest.skip("it was written within the moment that the kill took")
    done = study.run("study.resume=auto")
    assert report.is_file(), done.stderr
    assert done.returncode == 0
    assert told(study.events) == told(undisturbed.events)
