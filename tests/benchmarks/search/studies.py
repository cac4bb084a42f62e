"""One study on a landscape: the product's own code from the baseline to the verdict, with a record in memory."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from autotune.config.schema import Config
from autotune.record import events as ev
from autotune.record.record import Record
from autotune.record.view import StudyView
from autotune.study.budget import Budget
from autotune.study.context import StudyContext
from autotune.study.study import run_study
from autotune.trial import Candidate, WorkerFacts
from tests.benchmarks.search.landscape import Landscape, device_of
from tests.benchmarks.search.prices import Prices
from tests.benchmarks.search.served import Clock, ServedExecutor
from tests.benchmarks.truth.workers import configured

UNLIMITED = ("search.budget=null", "search.timing.pipeline=false")
"""No search is cut short, and none pays for what only a report shows."""


class MemoryRecord(Record):
    """A record that stays in memory, so that a thousand studies take minutes.

    Args:
        folder: of an empty file, which a record needs to begin.
        clock: how long the study has run [s].
    """

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        super().__init__(folder / "record.jsonl", (), clock)
        self._file.close()  # nothing is ever written
        self.events: list[tuple[float, ev.Event]] = []

    def _write(self, event: ev.Event) -> None:
        self.elapsed_s = max(self.elapsed_s, round(self._clock(), 3))
        self.events.append((self.elapsed_s, event))
        self.view.apply(event)


@dataclass(frozen=True, slots=True)
class Point:
    """A rival after one of its trials.

    Attributes:
        at_s: the time [s].
        trainings: so far, the baseline's among them.
        near: whether its incumbent is within 3 % of the best and accurate.
    """

    at_s: float
    trainings: int
    near: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search found, and at which cost.

    Attributes:
        winner: the confirmed candidate; the baseline if there is none.
        cost_s: up to the verdict, the first worker's start included [s].
        trainings: how many there were.
        seeds_again: trainings that had to be served with a recorded seed for the second time.
        confirming_s: what the confirmation took of the cost [s]; of a rival.
        confirming: trainings of the confirmation; of a rival.
        course: of a rival, after each of its trials.
        spent_s: the cost by kind of request [s]; empty for a rival.
        stages_s: the cost by stage of a study [s]; empty for a rival.
    """

    winner: Candidate
    cost_s: float
    trainings: int
    seeds_again: int
    confirming_s: float = 0.0
    confirming: int = 0
    course: tuple[Point, ...] = ()
    spent_s: Mapping[str, float] = field(default_factory=dict)
    stages_s: Mapping[str, float] = field(default_factory=dict)


class World:
    """A landscape that studies are run on.

    Args:
        landscape: what is served.
        folder: for the empty file of the records.
        overrides: of all studies, after the landscape's own and those of `UNLIMITED`.
    """

    def __init__(self, landscape: Landscape, folder: Path, overrides: tuple[str, ...] = ()) -> None:
        self.landscape = landscape
        self.prices = Prices(landscape)
        self.folder = folder
        self._config = configured((*landscape.head.overrides, *UNLIMITED, *overrides))
        self._device = device_of(landscape.head.host)

    def begin(self, seed: int) -> StudyContext:
        """A study that has not measured anything; a worker has started."""
        config: Config = copy.deepcopy(self._config)
        config.search.seed = seed
        clock = Clock()
        executor = ServedExecutor(self.landscape, self.prices, config, clock, seed)
        record = MemoryRecord(self.folder, clock)
        head = self.landscape.head
        facts = WorkerFacts(head.accelerator, (), 0, 0, None, None, head.versions, {}, 0.0, 1)
        record.append(_started(head.model))
        record.append(ev.WorkerReady(1, facts, head.data))
        return StudyContext(
            config=config,
            device=self._device,
            target=self._device.profile,
            executor=executor,
            record=record,
            budget=Budget(config.search.budget_s, lambda: record.elapsed_s),
            clock=clock,
            data=head.data,
            worker_start_s=self.prices.worker_s,
        )

    def study(self, seed: int) -> tuple[Outcome, StudyView]:
        """This tuner's own study."""
        context = self.begin(seed)
        run_study(context, self.landscape.head.accelerator)
        return outcome(context), context.view

    @cached_property
    def best(self) -> float:
        """Speedup of the best that an exhaustive search would find."""
        return self.landscape.speedup(self.landscape.best)

    def is_near(self, candidate: Candidate, within: float = 0.03) -> bool:
        """Whether it is as accurate as asked for, and within 3 % of the best."""
        if candidate != self.landscape.baseline and self.landscape.loss(candidate) > self.landscape.head.margin:
            return False
        return self.landscape.speedup(candidate) >= self.best * (1 - within)


def outcome(context: StudyContext) -> Outcome:
    """Of a study that is decided."""
    winner, executor, record = context.view.winner, served(context), context.record
    assert winner is not None
    assert isinstance(record, MemoryRecord)
    record.close()
    cost_s = context.clock()
    return Outcome(
        winner.candidate,
        cost_s,
        executor.trainings,
        executor.seeds_again,
        spent_s=executor.spent_s,
        stages_s=_by_stage(record.events, cost_s),
    )


def _by_stage(events: list[tuple[float, ev.Event]], ended_s: float) -> dict[str, float]:
    """How long each stage took; what comes before the first is the worker's start and the baseline's timing."""
    begun = [
        (0.0, "start"),
        *((at_s, event.stage.value) for at_s, event in events if isinstance(event, ev.StageStarted)),
    ]
    ends = [at_s for at_s, _ in begun[1:]] + [ended_s]
    spent: dict[str, float] = defaultdict(float)
    for (at_s, name), end_s in zip(begun, ends, strict=True):
        spent[name] += end_s - at_s
    return spent


def served(context: StudyContext) -> ServedExecutor:
    """The executor, as what it is here."""
    assert isinstance(context.executor, ServedExecutor)
    return context.executor


def _started(model: str) -> ev.StudyStarted:
    return ev.StudyStarted(
        format=ev.FORMAT,
        study=model,
        started_unix_s=0.0,
        config={},
        target={},
        device={},
        on_target=True,
        target_note="",
        output_dir="",
        command="",
        versions={},
    )
