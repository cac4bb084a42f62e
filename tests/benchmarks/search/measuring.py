"""Measures a landscape, measurement by measurement, each appended to a work file at once.

In each turn a fresh worker times every candidate beside the baseline, in an order of its own, and then trains each
group of candidates that train alike on some of the seeds. So each figure of a candidate comes from several moments, and
a machine that drifts does so for all. Then what may be near to the best is timed in further processes until it is told
apart: which is the best is otherwise a matter of noise. Everything goes through the executor of the product.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from autotune.errors import TrialFault
from autotune.hardware.device import detect
from autotune.hardware.host import Host, read_host
from autotune.space.build import baseline_candidate, build_space
from autotune.space.recipe import Fidelity, recipe_for
from autotune.tasks.session import check_against_data
from autotune.trial import Candidate, DatasetFacts, Failure, FailureKind, Probe, Recipe, Stage, WorkerFacts
from autotune.worker.executor import LocalExecutor
from tests.benchmarks.search import lines as files
from tests.benchmarks.search.landscape import FORMAT, Head, InForce, Landscape, Measurement, Start, Timing, Training
from tests.benchmarks.search.plans import Plan, timed_evenly
from tests.benchmarks.search.worth import trained
from tests.benchmarks.truth.workers import configured

# The space of another day holds more steps a call at larger batches, if the machine is quieter then.
_QUIETER = 1.5

# How long the machine is watched for what others take of it [s].
_WATCHED_S = 3.0

NEAR, HALF_WIDTH = 0.05, 0.015
"""Those that may come within this share of the best are timed again until each is known to this share."""


@dataclass
class _Asked:
    """What became of one request."""

    wall_s: float = 0.0
    failure: Failure | None = None


class Measuring:
    """One model's measurement, resumed from its work file.

    Args:
        model: of `conf/model`.
        plan: what is measured of it.
        folder: of the work file and the workers' log.
        calm: share of all cores that others may use when a measurement begins, 0 to 1; it waits for that.
        executor: made with the arguments of `LocalExecutor`.

    Raises:
        ValueError: the work file is that of another plan.
    """

    def __init__(
        self,
        model: str,
        plan: Plan,
        folder: Path,
        calm: float = 1.0,
        executor: Callable[..., Any] = LocalExecutor,
    ) -> None:
        self._plan, self._calm = plan, calm
        self._work = folder / f"{model}.work.jsonl"
        common = (f"model={model}", "hw=auto", "search.policies=[float32,mixed_bfloat16]", "search.xla=[false,true]")
        whole = (*common, "search.steps_per_execution=[1,8]", "data.on_unavailable=error", *plan.overrides)
        last = {one.partition("=")[0]: one for one in whole}  # the plan's own take the place of these
        self._overrides = tuple(last.values())
        self.config = timed_evenly(configured(self._overrides))
        self._found = self._earlier()
        before = max((start.process for start in self._found.starts), default=0) if self._found else 0
        self._executor = executor(self.config, folder / f"{model}.worker.log", None, self._ready, before)
        self._asked_at = 0.0
        self._start_s = 0.0
        self._process = before
        self._referenced = -1

    def _earlier(self) -> Landscape | None:
        """What an earlier session has measured; a line that its end cut is dropped, lest the next be glued to it."""
        if not self._work.exists():
            return None
        text = self._work.read_text(encoding="utf-8")
        self._work.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
        found = files.read(self._work)
        if found.head.overrides != self._overrides:
            raise ValueError(f"{self._work} holds another plan's measurements; remove it to begin anew")
        return found

    @property
    def found(self) -> Landscape:
        """What was measured so far."""
        assert self._found is not None, "the first worker tells what the head says"
        return self._found

    def run(self) -> Landscape:
        """Measure what is missing, as long as there is time."""
        try:
            for turn in range(self._plan.turns):
                self._turn(turn)
            for turn in range(self._plan.turns, self._plan.turns + self._plan.further):
                # A new object, which remembers nothing of what it was asked before this turn.
                near = replace(self.found).contenders(within=NEAR, half_width=HALF_WIDTH)
                if not near or minutes(self.found) > self._plan.minutes:
                    break
                self._timed(turn, near)
        finally:
            self._executor.close()
        return self.found

    def _timed(self, turn: int, candidates: list[Candidate] | None = None) -> bool:
        """Time them, or all, in a fresh process, in an order of its own; whether there was time for that."""
        self._waited()
        self._executor.replace()
        self._asked_at = time.monotonic()
        self._executor.start()
        if not self._has_timing(self.baseline, turn):
            self._time(self.baseline, None, turn)
        order = list(self.candidates if candidates is None else candidates)
        random.Random(turn).shuffle(order)
        for candidate in order:
            if turn and minutes(self.found) > self._plan.minutes:
                return False
            if not self._has_timing(candidate, turn):
                self._time(candidate, self.baseline, turn)
        return True

    def _turn(self, turn: int) -> None:
        if not self._timed(turn):
            return
        per_turn = -(-self._plan.seeds // self._plan.turns)
        for seed in range(per_turn * turn, min(self._plan.seeds, per_turn * (turn + 1))):
            if minutes(self.found) > self._plan.minutes:
                return
            for candidate in trained(self.found, self.candidates, self.baseline, seeds=seed):
                if seed not in self.found.trainings[candidate]:
                    self._train(candidate, seed)

    @property
    def baseline(self) -> Candidate:
        """The user's own settings."""
        return baseline_candidate(self.config, self.found.head.accelerator)

    @property
    def fidelity(self) -> Fidelity:
        """How long a training is."""
        return Fidelity(self.found.head.examples, self.found.head.epochs)

    @property
    def candidates(self) -> list[Candidate]:
        """The space that the study would build from the first timing of the baseline, or on a quieter day."""
        first = self.found.timings[self.baseline][0]
        quiet = tuple(step_ms / _QUIETER for step_ms in first.own_ms)
        effect = self.found.effects[self.baseline]
        probe = Probe(self.baseline, effect, quiet, (), first.steps, (), 0.0, 0.0, None, None, True)
        device = detect()
        return list(build_space(self.config, device, device.profile, probe, self.fidelity).candidates())

    def _has_timing(self, candidate: Candidate, turn: int) -> bool:
        return any(timing.turn == turn for timing in self.found.timings.get(candidate, ()))

    def _recipe(self, candidate: Candidate) -> Recipe:
        return recipe_for(self.config.train, candidate, self.fidelity, evaluations=self.found.head.evaluations)

    def _time(self, candidate: Candidate, reference: Candidate | None, turn: int) -> None:
        beside = None if reference is None else (reference, self._recipe(reference))
        stage = Stage.BASELINE if reference is None else Stage.SCREEN
        load, found = self._waited(), None
        with self._clocked() as asked:
            found = self._executor.probe(candidate, self._recipe(candidate), beside, stage)
        timing = Timing(candidate, turn, self._process, load, wall_s=asked.wall_s, failure=asked.failure)
        if found is not None:
            timing = replace(
                timing,
                own_ms=found.block_step_ms,
                baseline_ms=found.baseline_step_ms,
                steps=found.steps_per_block,
                baseline_steps=found.baseline_steps_per_block,
                build_s=found.build_s,
                first_step_s=found.first_step_s,
                warmup_ms=found.warmup_step_ms,
                peak_memory_mb=found.peak_memory_mb,
                makes_reference=reference is not None and self._referenced != self._process,
            )
        self._take(timing)
        if found is not None:
            self._referenced = self._process if reference is not None else self._referenced
            self._in_force(candidate, found)

    def _in_force(self, candidate: Candidate, probe: Probe) -> None:
        key = candidate if candidate == self.baseline else self.found.trained(candidate)
        if key not in self.found.effects:
            self._take(InForce(key, probe.effect))

    def _train(self, candidate: Candidate, seed: int) -> None:
        load, run = self._waited(), None
        with self._clocked() as asked:
            run = self._executor.train(candidate, seed, self._recipe(candidate))
        training = Training(candidate, seed, self._process, load, wall_s=asked.wall_s, failure=asked.failure)
        if run is not None:
            training = replace(
                training,
                metrics=tuple(point.metric for point in run.curve),
                losses=tuple(point.train_loss for point in run.curve),
                elapsed_s=tuple(point.elapsed_s for point in run.curve),
                skipped_steps=run.skipped_steps,
                loss_scale=run.loss_scale,
                weights_digest=run.weights_digest,
            )
        self._take(training)

    @contextmanager
    def _clocked(self) -> Iterator[_Asked]:
        """Times a request, without the start of a worker that it had to wait for; its fault is part of the answer."""
        asked = _Asked()
        self._asked_at, self._start_s = time.monotonic(), 0.0
        began = self._asked_at
        try:
            yield asked
        except TrialFault as fault:
            asked.failure = Failure(FailureKind(fault.kind), fault.message)
        asked.wall_s = time.monotonic() - began - self._start_s

    def _waited(self) -> float:
        """The load average, once the machine is calm; the worker is idle meanwhile."""
        while self._calm < 1 and psutil.cpu_percent(_WATCHED_S) > 100 * self._calm:
            time.sleep(_WATCHED_S)
        return os.getloadavg()[0]

    def _ready(self, number: int, facts: WorkerFacts, data: DatasetFacts) -> None:
        """A worker has started: the first one of all tells what the head says."""
        self._process, self._start_s = number, time.monotonic() - self._asked_at
        if self._found is None:
            check_against_data(self.config, data)
            self._found = Landscape(self._head(facts, data))
            self._append(files.encoded(self._found.head))
        self._take(Start(number, self._start_s, os.getloadavg()[0]))

    def _head(self, facts: WorkerFacts, data: DatasetFacts) -> Head:
        train = self.config.train
        assert train.examples is not None
        assert train.epochs is not None
        return Head(
            format=FORMAT,
            model=self.config.model.name,
            overrides=self._overrides,
            recorded=f"{datetime.now().astimezone():%Y-%m-%d}",
            host=_lasting(read_host()),
            accelerator=facts.accelerator,
            versions=facts.versions,
            data=replace(data, origin="this machine's own copy"),
            examples=train.examples,
            epochs=train.epochs,
            evaluations=self._plan.evaluations,
            margin=self.config.constraint.margin,
        )

    def _take(self, found: Measurement) -> None:
        self.found.take(found)
        self._append(files.encoded(found))
        what = getattr(found, "candidate", "")
        print(f"{type(found).__name__:9} {what} {getattr(found, 'seed', '')}", flush=True)

    def _append(self, line: str) -> None:
        with self._work.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def minutes(found: Landscape) -> float:
    """What measuring has taken so far, over all sessions."""
    starts_s = sum(start.start_s for start in found.starts)
    walls_s = sum(one.wall_s for one in found if isinstance(one, Timing | Training))
    return (starts_s + walls_s) / 60


def _lasting(host: Host) -> Host:
    """What of a machine is the same tomorrow, without its kernel's name."""
    return replace(host, os_release="", memory_available_mb=None, load_average_1m=None, thread_variables=())
