"""A person's rehearsed studies, and what is left of them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, read
from autotune.record.view import StudyView
from autotune.trial import Candidate
from tests.end_to_end.person import TRUST, Person
from tests.faults.planned import Planned, met, plan

GROUP = "AUTOTUNE_TEST_GROUP"
"""Variable: folder of a control group that the program is to run in."""

CLOCK = "AUTOTUNE_TEST_CLOCK"
"""Variable: if it is there, the program's clock on the wall jumps."""

SCRIPT = Path(__file__).with_name("rehearsal.py")

STUDY = (
    *TRUST,
    *("--config-dir", "my_conf", "model=my_net", "data=clusters", "train=adam", "tracking=off"),
    *("train.batch_size=16", "train.learning_rate=0.005", "train.examples=512", "train.epochs=2"),
    *("search.budget=null", "search.policies=[float32]", "search.xla=[false]", "search.steps_per_execution=[1]"),
    *("search.timing.processes=1", "search.trial_timeout_s=2", "output.name=mine"),
)
"""One float32 study of the person's; the batch sizes and the number of trials are each test's own."""

SMALL = ("search.batch_sizes=[16,32,64]", "search.trials=2", "search.finalists=1")
"""Two candidates, the larger of which is the faster and wins."""


@dataclass
class Rehearsed:
    """Studies in a person's folder.

    Attributes:
        options: of the command line, beside `STUDY`.
    """

    person: Person
    options: tuple[str, ...] = SMALL
    done: subprocess.CompletedProcess[str] | None = field(default=None, init=False)

    @property
    def folder(self) -> Path:
        return self.person.folder / "outputs" / "mine"

    def plan(self, faults: Iterable[Planned]) -> None:
        plan(self.person.folder, faults)

    def start(self, *more: str) -> subprocess.Popen[str]:
        return self.person.start(*self.command(*more))

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        """To its end, with nothing left running."""
        self.done = self.person.python(*self.command(*more))
        assert "Traceback" not in self.done.stderr, self.done.stderr
        self.assert_nothing_runs()
        return self.done

    def command(self, *more: str) -> list[str]:
        """A later option takes the place of an earlier one of the same key."""
        words = (*STUDY, *self.options, *more)
        last = {word.partition("=")[0]: number for number, word in enumerate(words) if "=" in word}
        kept = [word for number, word in enumerate(words) if last.get(word.partition("=")[0], number) == number]
        return [str(SCRIPT), *kept]

    def assert_nothing_runs(self) -> None:
        """What was killed takes a moment to end."""
        deadline = time.monotonic() + 15
        while self.person.running() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert self.person.running() == []

    @property
    def events(self) -> list[ev.Event]:
        return list(read(self.folder / FILE_NAME))

    @property
    def view(self) -> StudyView:
        return StudyView.of(self.events)

    @property
    def winner(self) -> Candidate:
        """What the study has decided for."""
        assert self.view.winner is not None
        return self.view.winner.candidate

    def notes(self, topic: str) -> list[str]:
        return [note.text for note in self.view.notes if note.topic == topic]

    def assert_reported(self) -> None:
        """It came to its end, and said so."""
        assert self.view.decided is not None
        assert self.view.decided.interrupted is None
        assert (self.folder / "report" / "summary.md").is_file()


def told(events: Iterable[ev.Event]) -> list[Any]:
    """What was found, without how long it took, in which worker, and after how many tries or sessions."""
    beside = (ev.StudyResumed, ev.WorkerReady, ev.Note, ev.SinkFailed)
    return [_timeless(event) for event in events if not isinstance(event, beside)]


def _timeless(event: ev.Event) -> ev.Event:
    match event:
        case ev.StudyStarted():
            return replace(
                event, started_unix_s=0.0, device={}, command="", output_dir="", study="", config={}, code={}
            )
        case ev.Probed() | ev.FinalistsCompared():
            return replace(event, duration_s=0.0, probe=replace(event.probe, worker=0))
        case ev.Trained():
            return replace(event, duration_s=0.0, run=replace(event.run, worker=0, model_path=None))
        case ev.FinalistConfirmed():
            confirmation = replace(event.confirmation, epoch_s=None, baseline_epoch_s=None, time_to_accuracy=None)
            return replace(event, confirmation=confirmation)
        case ev.FidelityPlanned():
            return replace(event, baseline_train_s=0.0, shares_s={}, reasons=())
        case ev.InspectionStarted():
            return replace(event, attempt=1)
        case ev.Exported():
            return replace(event, folder="", files={})
        case ev.StudyDecided():
            return replace(event, duration_s=0.0)
    return event


def hang(study: Rehearsed, place: str) -> subprocess.Popen[str]:
    """A session, the first one or a later one, that has come to this place and stays there."""
    study.plan([Planned(place, "sleeps", times=1)])
    process = study.start("search.trial_timeout_s=120", "study.resume=auto", "study.accept_changes=true")
    deadline = time.monotonic() + 60
    while not met(study.person.folder):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process
