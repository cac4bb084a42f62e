"""A world in which the truth is known: an executor that measures it, and a study that is driven through it.

    fake = FakeStudy(tmp_path, config, World(loss=lambda c: 0.05 if c.batch_size > 64 else 0.0))
    fake.run()
    fake.view.winner            read back from the record on disk

Time is the executor's own: every request moves the clock on, nothing sleeps.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autotune.config.constraint import Direction
from autotune.config.schema import Config
from autotune.config.search import Sampler
from autotune.errors import TrialFault
from autotune.hardware.profile import Profile
from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, read, read_lines
from autotune.record.record import Record, Sink
from autotune.record.tape import Resumed, Tape
from autotune.record.view import StudyView
from autotune.study.budget import Budget
from autotune.study.context import CONFIRM_SEED_OFFSET, StudyContext
from autotune.study.replay import ReplayingExecutor
from autotune.study.study import plan_study, run_study
from autotune.trial import (
    Candidate,
    DatasetFacts,
    EarlyStop,
    Effect,
    EpochPoint,
    FailureKind,
    LayerEffect,
    LayerHarm,
    Policy,
    Probe,
    Recipe,
    Stage,
    TrainingRun,
    WorkerFacts,
    Xla,
)
from tests.study.fake_machine import study_started, zen4

F32, F16, BF16 = Policy("float32"), Policy("mixed_float16"), Policy("mixed_bfloat16")
WIDTHS = (96, 64)
DATA = DatasetFacts("made up", 4096, 1000, 1000, (8,), 10, "nowhere", "f1")
_BLOCKS = 12
_POLICY_SPEED = {"float32": 1.0, "mixed_float16": 0.8, "mixed_bfloat16": 1.5}


class Clock:
    """Seconds that go on when somebody says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@dataclass(frozen=True)
class Request:
    """One call of the executor. `stage` of a training is `CONFIRM` for the confirmation's seeds, else `VERIFY`."""

    operation: str
    candidate: Candidate
    stage: Stage
    seed: int | None = None

    @property
    def of_baseline(self) -> bool:
        return self.candidate.xla is Xla.AUTO


def usual_speed(candidate: Candidate) -> float:
    """Speedup in the usual world, 1 for the baseline: bfloat16, a large batch, XLA and many steps a call all help."""
    if candidate.xla is Xla.AUTO:
        return 1.0
    gain = (candidate.batch_size / 32) ** 0.6 * _POLICY_SPEED[candidate.policy.name]
    gain *= 1.15 if candidate.xla is Xla.ON else 1.0
    return gain * (1.05 if candidate.steps_per_execution > 1 else 1.0)


Factors = tuple[Sequence[float], Sequence[float]]
"""What a probe measures over what is true, one entry a block: of the candidate, and of the neighbouring reference."""


def usual_factors(request: Request, worker: int) -> Factors:
    """Half a per cent up or down, the same whenever the same is asked of the same worker."""
    noise = random.Random(f"{request.candidate} {request.stage} {worker}")
    own, other = ([noise.uniform(0.995, 1.005) for _ in range(_BLOCKS)] for _ in range(2))
    return own, other


@dataclass
class World:
    """The truth.

    Attributes:
        speed: speedup of a candidate over the baseline.
        loss: by how much its metric is worse than the baseline's, in the metric's unit.
        noise: further difference of one training, by candidate and seed; by default a paired spread of 0.001.
        lag: by how much its metric is worse than the baseline's in the middle, beyond its loss; None: no curve is told.
        step_ms: the baseline's step time [ms].
        factors: what the blocks of a probe are wrong by, for a request and the number of the worker.
        extra_s: how much longer than it should a request takes [s].
        fault: what a request ends in instead of a result.
        altered: what becomes of a result.
        harms: how much each layer harms in 16 bit.
    """

    speed: Callable[[Candidate], float] = usual_speed
    loss: Callable[[Candidate], float] = lambda _: 0.0
    noise: Callable[[Candidate, int], float] = lambda c, seed: random.Random(f"{c} {seed}").gauss(0, 0.001)
    lag: Callable[[Candidate], float] | None = None
    step_ms: float = 2.0
    metric: float = 0.8
    factors: Callable[[Request, int], Factors] = usual_factors
    extra_s: Callable[[Request], float] = lambda _: 0.0
    fault: Callable[[Request], BaseException | None] = lambda _: None
    altered: Callable[[Request, Any], Any] = lambda _, result: result
    harms: Callable[[Candidate], tuple[LayerHarm, ...]] = lambda _: ()


class FakeExecutor:
    """`Executor` of a world; a probe takes `probe_s`, a fresh process `start_s`, a training as long as its steps."""

    def __init__(self, config: Config, world: World, clock: Clock, probe_s: float = 3.0, start_s: float = 5.0) -> None:
        self._higher = config.constraint.direction is Direction.higher
        self._own_batch = config.train.batch_size
        self._world, self._clock = world, clock
        self._probe_s, self._start_s = probe_s, start_s
        self.worker = 1
        self.requests: list[Request] = []
        self.hopeless_below: dict[tuple[Candidate, Stage], float | None] = {}
        self.stops: dict[Request, tuple[EarlyStop, ...]] = {}

    def probe(
        self,
        candidate: Candidate,
        recipe: Recipe,
        reference: tuple[Candidate, Recipe] | None,
        stage: Stage,
        hopeless_below: float | None = None,
    ) -> Probe:
        request = self._asked(Request("probe", candidate, stage), self._probe_s)
        self.hopeless_below[candidate, stage] = hopeless_below
        step_ms = self._step_ms(candidate)
        reference_ms = self._step_ms(reference[0]) if reference else 0.0
        own, other = self._world.factors(request, self.worker)
        probe = Probe(
            candidate=candidate,
            effect=effect_of(candidate),
            block_step_ms=tuple(step_ms * factor for factor in own),
            baseline_step_ms=tuple(reference_ms * factor for factor in other) if reference else (),
            steps_per_block=10,
            warmup_step_ms=(step_ms * 2,),
            build_s=0.1,
            first_step_s=0.5,
            peak_memory_mb=100.0,
            loss=1.0,
            loss_finite=True,
            worker=self.worker,
        )
        return self._world.altered(request, probe)

    def train(
        self,
        candidate: Candidate,
        seed: int,
        recipe: Recipe,
        keep_path: Path | None = None,
        stops: tuple[EarlyStop, ...] = (),
    ) -> TrainingRun:
        stage = Stage.CONFIRM if seed >= CONFIRM_SEED_OFFSET else Stage.VERIFY
        request = Request("train", candidate, stage, seed)
        worse = self._world.loss(candidate) if not request.of_baseline else 0.0
        metric = self._world.metric + random.Random(seed).gauss(0, 0.002)
        metric += self._world.noise(candidate, seed) - worse * (1 if self._higher else -1)
        curve, stopped = self._curve(request, recipe, metric, stops)
        steps = recipe.total_steps if stopped is None else stopped.epoch * recipe.total_steps // recipe.epochs
        train_s = steps * self._step_ms(candidate) / 1e3
        self._asked(request, train_s)
        self.stops[request] = stops
        if keep_path is not None:
            keep_path.parent.mkdir(exist_ok=True)
            keep_path.write_text(f"{candidate}, seed {seed}")
        run = TrainingRun(
            candidate=candidate,
            seed=seed,
            recipe=recipe,
            metric=metric if stopped is None else None,
            curve=curve,
            iterations=steps,
            skipped_steps=0,
            loss_scale=2.0**15 if candidate.policy == F16 else None,
            loss_finite=True,
            train_s=train_s,
            weights_digest=f"w{seed}",
            effect=effect_of(candidate),
            model_path=None if keep_path is None else str(keep_path),
            worker=self.worker,
            stopped=stopped,
        )
        return self._world.altered(request, run)

    def _curve(
        self, request: Request, recipe: Recipe, end: float, stops: tuple[EarlyStop, ...]
    ) -> tuple[tuple[EpochPoint, ...], EarlyStop | None]:
        """The middle and the end, or the middle alone where it is stopped; of a baseline it is 0.02 worse there."""
        if self._world.lag is None:
            return (), None
        sign, middle = 1 if self._higher else -1, recipe.epochs // 2 + recipe.epochs % 2
        lag = 0.0 if request.of_baseline else self._world.lag(request.candidate)
        point = EpochPoint(middle, 1.0, end - sign * (0.02 + lag), 1.0)
        stopped = next((stop for stop in stops if stop.ends(middle, point.metric)), None)
        return (point,) if stopped else (point, EpochPoint(recipe.epochs, 0.5, end, 2.0)), stopped

    def harms(self, candidate: Candidate, recipe: Recipe) -> tuple[LayerHarm, ...]:
        self._asked(Request("harms", candidate, Stage.VERIFY), 2.0)
        return self._world.harms(candidate)

    def recall(self, candidate: Candidate, probe: Probe) -> None:
        """What is asked does not depend on what was asked before."""

    def replace(self) -> None:
        self.worker += 1
        self._clock.now_s += self._start_s

    def _asked(self, request: Request, cost_s: float) -> Request:
        self.requests.append(request)
        self._clock.now_s += cost_s + self._world.extra_s(request)
        if (error := self._world.fault(request)) is not None:
            raise error
        return request

    def _step_ms(self, candidate: Candidate) -> float:
        return self._world.step_ms * candidate.batch_size / self._own_batch / self._world.speed(candidate)


@dataclass
class FakeStudy:
    """One study in a folder, for the device itself or for a target that is not here.

    A folder that holds a record already is a study that goes on. After `run`, `events` and `view` are what the record
    on disk says.
    """

    folder: Path
    config: Config
    world: World = field(default_factory=World)
    data: DatasetFacts = DATA
    target: Profile | None = None
    earlier: ev.EarlierStudy | None = None
    sinks: Sequence[Sink] = ()

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        device, clock, path = zen4(), Clock(), self.folder / FILE_NAME
        self.executor = FakeExecutor(self.config, self.world, clock)
        lines = list(read_lines(path)) if path.exists() else []
        before_s = lines[-1].at_s if lines else 0.0
        resumed = Resumed(Tape(lines), before_s, (), "python -m autotune study.resume=true") if lines else None
        self.executor.worker += resumed.tape.workers if resumed else 0
        self._record = Record(path, self.sinks, lambda: before_s + clock() - 100, resumed)
        self._record.append(study_started(self.folder, self.target is None, self.config.objective.name.value))
        facts = WorkerFacts("CPU", (), 0, 0, True, None, {"tensorflow": "2.21.0"}, {}, 5.0, 1)
        self._record.append(ev.WorkerReady(1, facts, self.data))
        if self.earlier is not None:
            self._record.append(self.earlier)
        self.context = StudyContext(
            config=self.config,
            device=device,
            target=self.target or device.profile,
            executor=ReplayingExecutor(self.executor, resumed.tape) if resumed else self.executor,
            record=self._record,
            budget=Budget(self.config.search.budget_s, lambda: self._record.elapsed_s),
            clock=clock,
            data=self.data,
            worker_start_s=5.0,
        )

    def run(self) -> FakeStudy:
        """The whole study; raises what it raises, with the record closed."""
        try:
            run_study(self.context, "CPU")
        finally:
            self._record.close()
        return self

    def plan(self) -> FakeStudy:
        """Only what `task=plan` does."""
        plan_study(self.context, "CPU")
        self._record.close()
        return self

    @property
    def events(self) -> list[ev.Event]:
        return list(read(self.folder / FILE_NAME))

    @property
    def view(self) -> StudyView:
        return StudyView.of(self.events)

    def of_kind(self, kind: type, stage: Stage | None = None) -> list[Any]:
        """Events of one kind, of one stage where it is given."""
        return [e for e in self.events if isinstance(e, kind) and stage in (None, getattr(e, "stage", None))]

    def screened(self) -> list[Candidate]:
        """Candidates in the order in which they were measured."""
        return [e.candidate for e in self.of_kind(ev.TrialStarted, Stage.SCREEN)]

    def trained(self, stage: Stage) -> list[tuple[int, int | None]]:
        """Trial and seed of each training that was begun in a stage."""
        return [(e.trial, e.seed) for e in self.of_kind(ev.TrialStarted, stage) if e.seed is not None]

    def notes(self, topic: str) -> list[str]:
        return [note.text for note in self.view.notes if note.topic == topic]


def config_of(**search: Any) -> Config:
    """A space of 23 candidates and no budget; trained on 2,048 examples x 3 epochs.

    All candidates are measured, in order. With `trials` it is the product's own sampler that chooses among them.
    """
    config = Config()
    config.model.name, config.model.widths = "net", list(WIDTHS)
    config.data.name, config.hw.name = "made up", "auto"
    config.train.examples, config.train.epochs = 2048, 3
    usual = {"trials": 30, "budget": None, "max_batch_factor": 4, "policies": ["float32", "mixed_bfloat16"]}
    chosen = usual | {"sampler": Sampler.auto if "trials" in search else Sampler.grid} | search
    for key, value in chosen.items():
        setattr(config.search, key, value)
    return config


def fault(kind: FailureKind) -> TrialFault:
    """A trial's fault."""
    return TrialFault(kind, f"a made-up {kind.value}")


def effect_of(candidate: Candidate) -> Effect:
    """What a candidate asks for, granted."""
    hidden = [
        LayerEffect(f"hidden_{n}", "Dense", candidate.policy.compute_dtype, "float32", 8 * width, 16 * width, width)
        for n, width in enumerate(candidate.widths)
    ]
    last = LayerEffect("class", "Dense", "float32", "float32", 640, 1280, 10)
    scaled = candidate.policy == F16
    return Effect(candidate.xla is Xla.ON, (*hidden, last), "float32", scaled, "SGD", None, False, "CPU")
