"""Events into runs: a parent for the study, a nested run for each trial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from autotune.config.schema import Config
from autotune.record.events import (
    Event,
    FinalistConfirmed,
    FinalistsCompared,
    Probed,
    SinkFailed,
    StageStarted,
    StudyDecided,
    StudyStarted,
    Trained,
    TrialFailed,
    TrialJudged,
    TrialStarted,
)
from autotune.record.view import StudyView
from autotune.report.training import health
from autotune.tracking import names
from autotune.tracking.rows import state, trial_row
from autotune.tracking.runs import LoggedRun
from autotune.tracking.store import OpenStore
from autotune.tracking.summary import status, study_row
from autotune.tracking.uri import masked
from autotune.trial import TrainingRun

# States that a green tick in the table of runs would hide.
_MARKS = ("baseline", "rejected", "not confirmed")

_TrialEvent = TrialStarted | Probed | Trained | TrialFailed | TrialJudged | FinalistConfirmed


@dataclass
class _Nested:
    """A trial's run. Its end is that of its last work, so that MLflow's duration column says how long it took.

    Attributes:
        running: whether MLflow shows it as running.
        busy: whether work on it has begun that has not yielded anything.
        worked_ms: when something last happened on it, Unix time.
    """

    run: LoggedRun
    name: str
    worked_ms: int
    running: bool = True
    busy: bool = False


class StudyLog:
    """Writes one study, an event at a time, in order; raises whatever MLflow raises.

    Args:
        opened: the store.
        config: names, the constraint's metric, the study's parameters.
        study: name of the parent run.
        started_ms: when the study began, Unix time.
    """

    def __init__(self, opened: OpenStore, config: Config, study: str, started_ms: int) -> None:
        self._opened = opened
        self._config = config
        self._view = StudyView()
        self._parent = LoggedRun.create(opened, study, started_ms)
        self._nested: dict[int, _Nested] = {}

    @property
    def run_id(self) -> str:
        """The parent run's."""
        return self._parent.run_id

    def take(self, event: Event, at_ms: int) -> None:
        """Write what an event changes; `at_ms` is when it happened, Unix time."""
        self._view.apply(event)
        if isinstance(event, SinkFailed):
            return
        if isinstance(event, _TrialEvent):
            self._take_trial(event, at_ms)
            return
        if isinstance(event, StudyStarted):
            text = yaml.safe_dump(event.config, sort_keys=False, allow_unicode=True)
            self._parent.text(masked(text), "config.yaml")
        if isinstance(event, StageStarted | StudyDecided):
            self._settle()
        if isinstance(event, StudyDecided) and event.winner in self._nested:
            self._rename(event.winner)
        if isinstance(event, FinalistsCompared):
            for number in (event.trial, event.other):
                self._retell(number, at_ms)
        self._parent.update(study_row(self._view, self._config), at_ms)

    def attach(self, files: dict[str, Path]) -> None:
        """Keep files and folders on the parent, each under its name."""
        for name, path in files.items():
            self._parent.attach(name, path)

    def finish(self, at_ms: int) -> None:
        """End every run that is still shown as running, and the parent as the study ended."""
        self._settle()
        self._parent.end(status(self._view), at_ms)

    def _take_trial(self, event: _TrialEvent, at_ms: int) -> None:
        number = event.confirmation.trial if isinstance(event, FinalistConfirmed) else event.trial
        nested = self._nested.get(number)
        if nested is None:
            nested = self._nested[number] = _Nested(self._create(number, at_ms), self._name(number), at_ms)
        if isinstance(event, TrialStarted):
            self._settle(but=number)
            if not nested.running:
                nested.run.reopen()
                nested.running = True
        if not isinstance(event, TrialJudged):
            nested.busy, nested.worked_ms = isinstance(event, TrialStarted), at_ms
        if isinstance(event, Trained):
            nested.run.points(_points(event, self._config.constraint.metric), at_ms)
        self._retell(number, at_ms)
        self._rename(number)

    def _retell(self, number: int, at_ms: int) -> None:
        if (nested := self._nested.get(number)) is not None:
            row = trial_row(self._view.trials[number], self._view, self._config.constraint.metric)
            nested.run.update(row, at_ms)

    def _create(self, number: int, at_ms: int) -> LoggedRun:
        return LoggedRun.create(self._opened, self._name(number), at_ms, parent=self.run_id)

    def _name(self, number: int) -> str:
        trial, baseline = self._view.trials[number], self._view.baseline
        winner = self._view.decided is not None and self._view.decided.winner == number
        shown = state(trial)
        mark = "winner" if winner and not trial.is_baseline else shown if shown in _MARKS else ""
        return names.run_name(number, trial.candidate, baseline.candidate if baseline else None, mark)

    def _rename(self, number: int) -> None:
        nested, name = self._nested[number], self._name(number)
        if name != nested.name:
            nested.run.rename(name)
            nested.name = name

    def _settle(self, but: int | None = None) -> None:
        for number, nested in self._nested.items():
            if number == but or not nested.running:
                continue
            failed = self._view.trials[number].failure is not None
            nested.run.end("FAILED" if failed else "KILLED" if nested.busy else "FINISHED", nested.worked_ms)
            nested.running = False


def _points(event: Trained, metric: str) -> Iterator[tuple[str, float, int]]:
    """A training's curve by epoch, and its outcome by seed; what was not finite is left out."""
    run, metric = event.run, names.name(metric)
    yield from _curve(run, metric)
    if run.metric is not None:
        yield f"by_seed/val_{metric}", run.metric, run.seed
    if event.delta is not None:
        yield "by_seed/accuracy_delta", event.delta, run.seed
    yield from _health(run)


def _health(run: TrainingRun) -> Iterator[tuple[str, float, int]]:
    """Of one training; loss scaling has its figures only where there is any."""
    found = health([run])
    assert found is not None
    yield "by_seed/non_finite", found.non_finite, run.seed
    yield "by_seed/share_16bit", run.effect.share_16bit, run.seed
    if found.loss_scale is not None and found.loss_scale_lowest is not None:
        yield "by_seed/loss_scale", found.loss_scale, run.seed
        yield "by_seed/loss_scale_lowest", found.loss_scale_lowest, run.seed
        yield "by_seed/skipped_steps_share", found.skipped_share, run.seed


def _curve(run: TrainingRun, metric: str) -> Iterator[tuple[str, float, int]]:
    for point in run.curve:
        if point.metric is not None:
            yield f"by_epoch/val_{metric}_seed_{run.seed}", point.metric, point.epoch
        if point.train_loss is not None:
            yield f"by_epoch/train_loss_seed_{run.seed}", point.train_loss, point.epoch
        if point.loss_scale is not None:
            yield f"by_epoch/loss_scale_seed_{run.seed}", point.loss_scale, point.epoch
            yield f"by_epoch/skipped_steps_seed_{run.seed}", point.skipped_steps, point.epoch
