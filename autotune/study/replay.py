"""What earlier sessions have measured, served again in place of a measurement."""

from __future__ import annotations

import shutil
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from autotune.errors import TrialFault, UserError
from autotune.record.events import FinalistsCompared, HarmMeasured, Probed, Trained, TrialFailed, TrialStarted
from autotune.record.tape import Tape
from autotune.trial import Candidate, EarlyStop, Failure, FailureKind, LayerHarm, Probe, Recipe, Stage, TrainingRun
from autotune.worker.contract import Executor

# A candidate that takes the machine down does so again: but pre-emption may hit one that takes long, too.
_MOST_DEATHS = 3

T = TypeVar("T", Probe, TrainingRun, tuple[LayerHarm, ...])
_Probes = dict[tuple[Candidate, Stage, Candidate | None], deque[Probe | Failure]]
_Trainings = dict[tuple[Candidate, int], deque[TrainingRun | Failure]]


class Recalling(Executor, Protocol):
    """An executor that can be told what it would know had it measured itself."""

    def recall(self, candidate: Candidate, probe: Probe) -> None:
        """Take an earlier probe as its own."""


class ReplayingExecutor:
    """Serves each recorded measurement once, to whoever asks for the same again; what is new, `executor` measures.

    Args:
        executor: with a fresh worker.
        tape: what was recorded.
    """

    def __init__(self, executor: Recalling, tape: Tape) -> None:
        self._executor = executor
        self._death = tape.death
        self._measures = False  # whether anything new was asked for
        self._candidates: dict[int, Candidate] = {}
        self._probes: _Probes = defaultdict(deque)
        self._trainings: _Trainings = defaultdict(deque)
        self._harms: dict[Candidate, deque[tuple[LayerHarm, ...] | Failure]] = defaultdict(deque)
        self._read(tape)

    def probe(
        self,
        candidate: Candidate,
        recipe: Recipe,
        reference: tuple[Candidate, Recipe] | None,
        stage: Stage,
        hopeless_below: float | None = None,
    ) -> Probe:
        """See `Executor.probe`."""
        beside = reference[0] if reference is not None and stage is Stage.VERIFY else None
        if recorded := self._probes[candidate, stage, beside]:
            probe = _result(recorded.popleft())
            self._executor.recall(candidate, probe)
            return probe
        return self._measured(
            candidate,
            stage,
            None,
            lambda: self._executor.probe(candidate, recipe, reference, stage, hopeless_below),
        )

    def train(
        self,
        candidate: Candidate,
        seed: int,
        recipe: Recipe,
        keep_path: Path | None = None,
        stops: tuple[EarlyStop, ...] = (),
    ) -> TrainingRun:
        """See `Executor.train`.

        Raises:
            UserError: the model that was kept is gone.
        """
        recorded = self._trainings[candidate, seed]
        if recorded and _answers(recorded[0], recipe, stops):
            run = _result(recorded.popleft())
            if keep_path is not None and run.model_path and not keep_path.is_file() and Path(run.model_path).is_file():
                shutil.copyfile(run.model_path, keep_path)  # it was kept under the number that the trial had then
            if keep_path is not None and not keep_path.is_file():
                raise UserError(
                    f"the study cannot go on: the model that was kept at {keep_path} is gone; begin a new study"
                    " (study.resume=false)"
                )
            return run
        return self._measured(
            candidate, None, seed, lambda: self._executor.train(candidate, seed, recipe, keep_path, stops)
        )

    def harms(self, candidate: Candidate, recipe: Recipe) -> tuple[LayerHarm, ...]:
        """See `Executor.harms`."""
        if recorded := self._harms[candidate]:
            return _result(recorded.popleft())
        return self._measured(candidate, None, None, lambda: self._executor.harms(candidate, recipe))

    def replace(self) -> None:
        """Go on in a fresh process, which the first one of this session still is."""
        if self._measures:
            self._executor.replace()

    def _measured(self, candidate: Candidate, stage: Stage | None, seed: int | None, measure: Callable[[], T]) -> T:
        self._measures = True
        death, self._death = self._death, None
        if death is not None and death.times >= _MOST_DEATHS and self._candidates.get(death.at.trial) == candidate:
            same = death.at.seed == seed if seed is not None else death.at.stage is stage
            if same:
                raise TrialFault(
                    FailureKind.CRASH,
                    f"the whole study was killed {death.times} times in a row while this was measured: it is not tried"
                    " again",
                )
        return measure()

    def _read(self, tape: Tape) -> None:
        asked: TrialStarted | None = None
        for line in tape.standing:
            match line.event:
                case TrialStarted() as asked:
                    self._candidates[asked.trial] = asked.candidate
                case Probed() as event if asked is not None:
                    self._probes[asked.candidate, event.stage, None].append(event.probe)
                    asked = None
                case Trained() as event if asked is not None:
                    self._trainings[asked.candidate, event.run.seed].append(event.run)
                    asked = None
                case TrialFailed() as event if asked is not None:  # else it follows from what was measured
                    self._read_failure(asked, event)
                    asked = None
                case HarmMeasured() as event:
                    self._harms[event.candidate].append(event.failure or event.layers)
                case FinalistsCompared() as event:
                    one, other = self._candidates[event.trial], self._candidates[event.other]
                    self._probes[one, Stage.VERIFY, other].append(event.probe)
                case _:
                    pass

    def _read_failure(self, asked: TrialStarted, event: TrialFailed) -> None:
        if event.seed is None:
            self._probes[asked.candidate, event.stage, None].append(event.failure)
        else:
            self._trainings[asked.candidate, event.seed].append(event.failure)


def _answers(recorded: TrainingRun | Failure, recipe: Recipe, stops: tuple[EarlyStop, ...]) -> bool:
    """Whether it is what is asked for: of this recipe, and stopped early only where it would be again."""
    if isinstance(recorded, Failure):
        return True
    return recorded.recipe == recipe and (recorded.stopped is None or recorded.stopped in stops)


def _result(recorded: T | Failure) -> T:
    """What was measured, or the fault that was met instead."""
    if isinstance(recorded, Failure):
        raise TrialFault(recorded.kind, recorded.message, recorded.detail)
    return recorded
