"""What MLflow should hold of a study, folded from its events: a parent run, and a nested run for each trial. Pure.

A run is described whole and never as a change, so that it does not matter what the store has of it already, or how
often it is told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from autotune.masking import masked_values
from autotune.record.events import (
    Event,
    FinalistConfirmed,
    FinalistsCompared,
    Probed,
    SinkFailed,
    StageStarted,
    StudyDecided,
    StudyResumed,
    StudyStarted,
    Trained,
    TrialFailed,
    TrialJudged,
    TrialStarted,
)
from autotune.record.view import StudyView
from autotune.tracking import names
from autotune.tracking.dataset import UsedData
from autotune.tracking.points import Point, trial_points
from autotune.tracking.rows import Row, state, trial_row
from autotune.tracking.summary import status, study_row

RUNNING = "RUNNING"
PARENT = -1
"""Stands for the study's own run where trials are named by their numbers."""
FILES = -2
"""Stands for the parent's files there."""

# States that a green tick in the table of runs would hide.
_MARKS = ("baseline", "rejected", "not confirmed")

_TrialEvent = TrialStarted | Probed | Trained | TrialFailed | TrialJudged | FinalistConfirmed


@dataclass(frozen=True, slots=True)
class WantedRun:
    """One run as it should be.

    Attributes:
        status: MLflow's word: RUNNING, FINISHED, FAILED or KILLED.
        start_ms: Unix time; so is `end_ms`, which counts once the run is not RUNNING.
        points: metrics with a step.
        data: what was trained on; of the study's own run.
    """

    name: str
    status: str
    start_ms: int
    end_ms: int
    row: Row
    points: tuple[Point, ...] = ()
    data: UsedData | None = None


@dataclass
class _Life:
    """When a trial was worked on. Its end is that of its last work, so that MLflow's duration says how long that took.

    Attributes:
        running: whether it is the one that is worked on.
        busy: whether work on it has begun that has not yielded anything.
        worked_ms: when something last happened on it, Unix time.
    """

    start_ms: int
    worked_ms: int
    running: bool = True
    busy: bool = False


@dataclass
class Wanted:
    """A study's runs, as far as it has come.

    Attributes:
        study: name of the parent run.
        changed: what is not as it was when somebody last emptied this: trials by number, `PARENT` and `FILES`.
        files: artifacts of the parent by name: a file, a folder, or a text.
    """

    study: str
    view: StudyView = field(default_factory=StudyView)
    changed: set[int] = field(default_factory=set)
    files: dict[str, Path | str] = field(default_factory=dict)
    _lives: dict[int, _Life] = field(default_factory=dict)
    _latest_ms: int = 0
    _ended: bool = False

    @property
    def key(self) -> str | None:
        """What tells this study from all others in the store, also from one of the same name elsewhere."""
        started = self.view.started
        if started is None:
            return None
        text = f"{started.study}\n{started.started_unix_s!r}\n{started.output_dir}"
        return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:32]

    @property
    def began(self) -> tuple[str, int]:
        """The study's name as its runs' tags have it, and when it began, Unix time [ms]."""
        started = self.view.started
        assert started is not None
        return started.study, int(started.started_unix_s * 1000)

    def take(self, event: Event, at_ms: int) -> None:
        """Take an event that happened at `at_ms`, Unix time."""
        self.view.apply(event)
        if isinstance(event, SinkFailed):
            return
        self._latest_ms = max(self._latest_ms, at_ms)
        if isinstance(event, _TrialEvent):
            self._take_trial(event, at_ms)
            return
        if isinstance(event, StudyStarted):
            self.attach({"config.yaml": _config_text(event.config)})
        if isinstance(event, StudyResumed) and event.in_flight and event.in_flight.trial in self._lives:
            self._lives[event.in_flight.trial].busy = True
            self.changed.add(event.in_flight.trial)
        if isinstance(event, StageStarted | StudyDecided | StudyResumed):
            self._settle()
        if isinstance(event, StudyDecided) and event.winner in self._lives:
            self.changed.add(event.winner)
        if isinstance(event, FinalistsCompared):
            self.changed.update({event.trial, event.other} & self._lives.keys())
        self.changed.add(PARENT)

    def attach(self, files: Mapping[str, Path | str]) -> None:
        """Have files, folders or texts on the parent, each under its name; its description points at some."""
        self.files |= files
        self.changed |= {FILES, PARENT}

    def finish(self) -> None:
        """Nothing more happens: no run goes on, and the parent ends as the study ended.

        Why a trial is as fast as it is rests on the trials after it, too, so all are looked at again.
        """
        self._settle()
        self._ended = True
        self.changed |= {PARENT, *self._lives}

    def all_changed(self) -> None:
        """Nobody knows what the store has."""
        self.changed |= {PARENT, FILES, *self._lives}

    def trials(self) -> list[int]:
        """Numbers of the trials that have a run, in order."""
        return sorted(self._lives)

    def parent(self) -> WantedRun:
        """The study's own run."""
        return WantedRun(
            name=self.study,
            status=status(self.view) if self._ended else RUNNING,
            start_ms=self.began[1],
            end_ms=self._latest_ms,
            row=study_row(self.view),
            data=UsedData.of(self.view),
        )

    def trial(self, number: int) -> WantedRun:
        """A trial's run."""
        life, trial = self._lives[number], self.view.trials[number]
        metric = self.metric
        return WantedRun(
            name=self._name(number),
            status=self._status(number),
            start_ms=life.start_ms,
            end_ms=life.worked_ms,
            row=trial_row(trial, self.view, metric),
            points=tuple(trial_points(trial, metric)),
        )

    @property
    def metric(self) -> str:
        """The constraint's."""
        assert self.view.started is not None
        return str(self.view.started.config["constraint"]["metric"])

    def _take_trial(self, event: _TrialEvent, at_ms: int) -> None:
        number = event.confirmation.trial if isinstance(event, FinalistConfirmed) else event.trial
        life = self._lives.setdefault(number, _Life(at_ms, at_ms))
        if isinstance(event, TrialStarted):
            self._settle(but=number)
            life.running = True
        if not isinstance(event, TrialJudged):
            life.busy, life.worked_ms = isinstance(event, TrialStarted), at_ms
        self.changed.add(number)

    def _settle(self, but: int | None = None) -> None:
        for number, life in self._lives.items():
            if life.running and number != but:
                life.running = False
                self.changed.add(number)

    def _status(self, number: int) -> str:
        life = self._lives[number]
        if life.running:
            return RUNNING
        if self.view.trials[number].failure is not None:
            return "FAILED"
        return "KILLED" if life.busy else "FINISHED"

    def _name(self, number: int) -> str:
        trial, baseline = self.view.trials[number], self.view.baseline
        winner = self.view.decided is not None and self.view.decided.winner == number
        shown = state(trial)
        mark = "winner" if winner and not trial.is_baseline else shown if shown in _MARKS else ""
        return names.run_name(number, trial.candidate, baseline.candidate if baseline else None, mark)


class UnixTime:
    """When recorded lines were written, from the study's running time that they carry."""

    def __init__(self) -> None:
        self._began_s = 0.0

    def ms(self, event: Event, at_s: float) -> int:
        """Unix time [ms] of an event at the study's running time `at_s` [s]; to be asked of every event in order."""
        if isinstance(event, StudyStarted):
            self._began_s = event.started_unix_s - at_s
        if isinstance(event, StudyResumed):  # the time between two sessions does not count as running
            self._began_s = event.resumed_unix_s - event.elapsed_s
        return int((self._began_s + at_s) * 1000)


def _config_text(config: Mapping[str, Any]) -> str:
    return yaml.safe_dump(masked_values(config), sort_keys=False, allow_unicode=True)
