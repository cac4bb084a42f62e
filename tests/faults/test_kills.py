"""kill -9 at random moments of short studies, which the very command resumes each time until they end.

    FAULTS_KILLS=50 FAULTS_SEED=7 pytest tests/faults/test_kills.py -s

A kill falls at any time after the session began, its start included, or shortly after a measurement. Only one thing is
not left to chance: a session that measured nothing is followed by one that may, since what takes a whole study down
three times in a row is rightly not tried again.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, read, read_lines
from autotune.record.view import StudyView
from autotune.trial import Interval, Stage
from tests.end_to_end.person import STUDY, Person
from tests.faults.actor import PAUSE
from tests.faults.rehearsed import Rehearsed, told

KILLS = int(os.environ.get("FAULTS_KILLS", "2"))
SEED = int(os.environ.get("FAULTS_SEED", str(int(time.time()))))
_KILLS_A_STUDY = 6  # the budget is a total, and every session takes its start from it

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240 + 60 * KILLS)]

BUDGET_S = 400
CHANGED = (
    f"search.budget={BUDGET_S}s",
    "search.trials=2",
    "search.policies=[float32]",
    "search.batch_sizes=[16,32,128]",
    "train.epochs=3",
)
OPTIONS = (
    *(word for word in STUDY if word.partition("=")[0] not in {change.partition("=")[0] for change in CHANGED}),
    *CHANGED,
    *("output.name=mine", "tracking=off", "study.resume=auto"),
)
_MEASURED = (ev.Probed, ev.Trained, ev.TrialFailed, ev.FinalistsCompared)
_LONGEST_WAIT_S = 12.0
_SLACK = 0.25
"""By how much two runs of one study differ on a machine that does other things too, beyond what each saw itself."""


class Study:
    """One study of a person's, over all its sessions."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.person = Person(folder)
        self.folder = folder / "outputs" / "mine"
        self.lived_s = 0.0

    def killed(self, dice: random.Random, *, lets_measure: bool) -> bool:
        """One session and its kill; whether there was one, or the study came to its end before."""
        before = len(self.measured())
        wanted = dice.choice([1, 1, 2, 3]) if lets_measure else dice.choice([None, None, 1, 2])
        delay_s = dice.uniform(0, _LONGEST_WAIT_S if wanted is None else 1.5)
        what = dice.choice(["the parent", "the parent and its workers"])
        print(f"  {what} after {wanted or 'no'} measurements and {delay_s:.1f} s", flush=True)
        began = time.monotonic()
        with self._session() as process:
            while wanted and len(self.measured()) < before + wanted and process.poll() is None:
                time.sleep(0.02)
            ended_s = time.monotonic() + delay_s
            while time.monotonic() < ended_s and process.poll() is None:
                time.sleep(0.01)
            if process.poll() is not None:
                self._assert_ended_well(process)
                self.lived_s += time.monotonic() - began
                return False
            workers = psutil.Process(process.pid).children() if what != "the parent" else []
            os.kill(process.pid, signal.SIGKILL)
            for worker in workers:
                with suppress(psutil.NoSuchProcess):  # it has ended with its parent
                    worker.kill()
            process.communicate()
        self.lived_s += time.monotonic() - began
        self._assert_nothing_runs()
        return True

    def finish(self) -> None:
        """The last session."""
        began = time.monotonic()
        with self._session() as process:
            self._assert_ended_well(process)
        self.lived_s += time.monotonic() - began
        self._assert_nothing_runs()

    def measured(self) -> list[ev.Event]:
        """What was measured, whole lines only."""
        path = self.folder / FILE_NAME
        return [line.event for line in read_lines(path) if isinstance(line.event, _MEASURED)] if path.exists() else []

    @property
    def view(self) -> StudyView:
        return StudyView.of(read(self.folder / FILE_NAME))

    def _session(self) -> subprocess.Popen[str]:
        return self.person.start("-m", "autotune", *OPTIONS)

    def _assert_ended_well(self, process: subprocess.Popen[str]) -> None:
        out, err = process.communicate(timeout=BUDGET_S)
        assert process.returncode in (0, 3), f"{out}\n{err}"
        assert err == ""

    def _assert_nothing_runs(self) -> None:
        deadline = time.monotonic() + 20
        while self.person.running() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert self.person.running() == []


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> StudyView:
    study = Study(tmp_path_factory.mktemp("uninterrupted") / "person")
    study.finish()
    return study.view


def studies(folder: Path, dice: random.Random) -> Iterator[Study]:
    """As many as it takes for all the kills, each at its end."""
    left = KILLS
    while left > 0:
        study = Study(folder / f"study {left}")
        print(f"\nkills with seed {SEED}, {left} left", flush=True)
        fruitful = True
        for _ in range(min(left, _KILLS_A_STUDY)):
            before = study.measured()
            if not study.killed(dice, lets_measure=not fruitful):
                break
            left -= 1
            assert study.measured()[: len(before)] == before, "what was measured stands"
            fruitful = len(study.measured()) > len(before)
        else:
            study.finish()
        yield study


@pytest.mark.skipif("FAULTS_KILLS" not in os.environ, reason="half a minute a kill: make faults, or FAULTS_KILLS=3")
def test_a_study_that_is_killed_at_random_ends_as_if_it_had_not_been(tmp_path: Path, uninterrupted: StudyView) -> None:
    for study in studies(tmp_path, random.Random(SEED)):
        events = list(read(study.folder / FILE_NAME))
        screened = [e.trial for e in events if isinstance(e, (ev.Probed, ev.TrialFailed)) and e.stage is Stage.SCREEN]
        assert sorted(screened) == [1, 2], "the trials are a total, and none is measured twice"
        trained = [(e.trial, e.stage, e.run.seed) for e in events if isinstance(e, ev.Trained)]
        assert len(trained) == len(set(trained)), "no seed is trained twice"
        stamps = [line.at_s for line in read_lines(study.folder / FILE_NAME)]
        assert stamps == sorted(stamps)
        assert stamps[-1] <= study.lived_s + 1, "only time that the study has lived counts"
        [decided] = [event for event in events if isinstance(event, ev.StudyDecided)]
        assert decided.interrupted is None
        assert decided.duration_s <= BUDGET_S
        assert (study.folder / "report" / "summary.md").is_file()
        assert not [event for event in events if isinstance(event, ev.TrialFailed)]
        assert_same_answer(study.view, uninterrupted)


def test_a_rehearsed_study_that_is_killed_at_random_finds_exactly_the_same(
    person: Person, undisturbed: Rehearsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each operation takes a moment, so that kills fall on all of them; a study that has ended is begun anew."""
    monkeypatch.setenv(PAUSE, "0.2")
    dice = random.Random(SEED)
    print(f"\n{KILLS} kills of rehearsed studies with seed {SEED}", flush=True)
    left = KILLS
    while left > 0:
        study = Rehearsed(person)
        while left > 0:
            with study.start("study.resume=auto") as process:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(dice.uniform(0.5, 6.0))
                if process.poll() is not None:
                    out, err = process.communicate()
                    assert process.returncode == 0, f"{out}\n{err}"
                    break
                process.kill()
                process.communicate()
            left -= 1
            study.assert_nothing_runs()
        else:
            assert study.run("study.resume=auto").returncode == 0
        study.assert_reported()
        assert told(study.events) == told(undisturbed.events)
        shutil.rmtree(study.folder)


def assert_same_answer(view: StudyView, other: StudyView) -> None:
    """Both found nothing, or both found a winner whose confirmed speedup is the same within noise."""
    found, expected = (_confirmed(one) for one in (view, other))
    assert (found is None) == (expected is None), (found, expected)
    if found is not None and expected is not None:
        assert found.low / (1 + _SLACK) <= expected.high, (found, expected)
        assert expected.low / (1 + _SLACK) <= found.high, (found, expected)


def _confirmed(view: StudyView) -> Interval | None:
    return next((c.speedup for c in view.confirmations if c.succeeded), None)
