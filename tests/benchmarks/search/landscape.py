"""A landscape: a whole grid of candidates as it was measured once on one machine, in one file of JSON lines.

The first line is the head: device, versions, date, data, recipe, load and what was thinned out. Each further line is
one measurement: a worker's start, a timing (blocks of a candidate beside the baseline's), a training (its learning
curve), or what was in force in a model. `lines.py` reads and writes it, `measure.py` measures it,
`served.py` serves it to a study.

Candidates that differ in steps_per_execution alone train alike, so that one of them is trained for all: its `trained`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean

from autotune.decide import timing
from autotune.hardware.device import Device, detect
from autotune.hardware.host import Host
from autotune.hardware.nvml import NvmlReport, NvmlStatus
from autotune.trial import Candidate, DatasetFacts, Effect, Failure, Interval, Xla

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Head:
    """Where, when and of what.

    Attributes:
        overrides: what the command line would say to get this study's configuration.
        recorded: the day, as 2026-11-30.
        host: of the device; its kernel, memory in use and load are not kept.
        examples, epochs, evaluations: of each training.
        margin: of the accuracy constraint, in the metric's unit.
        load: lowest, median and highest load average over a minute while it was measured.
        minutes: what measuring took.
        thinned: what was not measured, and how it is served.
    """

    format: int
    model: str
    overrides: tuple[str, ...]
    recorded: str
    host: Host
    accelerator: str
    versions: dict[str, str]
    data: DatasetFacts
    examples: int
    epochs: int
    evaluations: int
    margin: float
    load: tuple[float, ...] = ()
    minutes: float = 0.0
    thinned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Start:
    """A worker's start, up to its framework and its data [s]."""

    process: int
    start_s: float
    load: float


@dataclass(frozen=True, slots=True)
class Timing:
    """One probe of a candidate in one process.

    Attributes:
        turn: counted from 0; each turn times every candidate once, in a fresh process and another order.
        process: number of the worker.
        load: load average over a minute, before it.
        own_ms: step time of each block [ms].
        baseline_ms: of the neighbouring block of the baseline [ms]; empty when the baseline is timed alone.
        steps, baseline_steps: optimizer steps in a block.
        wall_s: the whole request, a worker's start apart [s].
        makes_reference: whether the baseline's model was made in it too.
        failure: why there is nothing else, or None.
    """

    candidate: Candidate
    turn: int
    process: int
    load: float
    own_ms: tuple[float, ...] = ()
    baseline_ms: tuple[float, ...] = ()
    steps: int = 0
    baseline_steps: int = 0
    build_s: float = 0.0
    first_step_s: float = 0.0
    warmup_ms: tuple[float, ...] = ()
    peak_memory_mb: float | None = None
    wall_s: float = 0.0
    makes_reference: bool = False
    failure: Failure | None = None

    @property
    def ratios(self) -> list[float]:
        """Candidate over baseline throughput per example of equal batches: to be multiplied by the batches' ratio."""
        return [base / own for own, base in zip(self.own_ms, self.baseline_ms, strict=True)]


@dataclass(frozen=True, slots=True)
class Training:
    """One training on one seed.

    Attributes:
        metrics: after each epoch; None where it was not evaluated.
        losses: of each epoch.
        elapsed_s: training time at the end of each epoch, evaluation apart [s].
        wall_s: the whole request, a worker's start apart [s].
        failure: why there is nothing else, or None.
    """

    candidate: Candidate
    seed: int
    process: int
    load: float
    metrics: tuple[float | None, ...] = ()
    losses: tuple[float | None, ...] = ()
    elapsed_s: tuple[float, ...] = ()
    wall_s: float = 0.0
    skipped_steps: int = 0
    loss_scale: float | None = None
    weights_digest: str = ""
    failure: Failure | None = None

    @property
    def metric(self) -> float | None:
        """At the end."""
        return self.metrics[-1] if self.metrics else None

    @property
    def train_s(self) -> float:
        """Training time, evaluation apart [s]."""
        return self.elapsed_s[-1] if self.elapsed_s else 0.0


@dataclass(frozen=True, slots=True)
class InForce:
    """What was in force in a candidate's model."""

    candidate: Candidate
    effect: Effect


Measurement = Start | Timing | Training | InForce


@dataclass
class Landscape:
    """All of one file."""

    head: Head
    starts: list[Start] = field(default_factory=list)
    timings: dict[Candidate, list[Timing]] = field(default_factory=lambda: defaultdict(list))
    trainings: dict[Candidate, dict[int, Training]] = field(default_factory=lambda: defaultdict(dict))
    effects: dict[Candidate, Effect] = field(default_factory=dict)

    def take(self, found: Measurement) -> None:
        """One more line; of two of the same, the later."""
        match found:
            case Start():
                self.starts.append(found)
            case Timing():
                others = [one for one in self.timings[found.candidate] if one.turn != found.turn]
                self.timings[found.candidate] = [*others, found]
            case Training():
                self.trainings[found.candidate][found.seed] = found
            case InForce():
                self.effects[found.candidate] = found.effect

    def __iter__(self) -> Iterator[Measurement]:
        yield from self.starts
        for timings in self.timings.values():
            yield from timings
        for trainings in self.trainings.values():
            yield from trainings.values()
        for candidate, effect in self.effects.items():
            yield InForce(candidate, effect)

    @cached_property
    def baseline(self) -> Candidate:
        """The user's own settings, XLA left to Keras."""
        return next(candidate for candidate in self.timings if candidate.xla is Xla.AUTO)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All but the baseline."""
        return tuple(candidate for candidate in self.timings if candidate != self.baseline)

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """Seeds that the baseline was trained on."""
        return tuple(sorted(self.trainings[self.baseline]))

    def trained(self, candidate: Candidate) -> Candidate:
        """The one that was trained for all that train alike."""
        alike = replace(candidate, steps_per_execution=1)
        own = self.baseline
        in_force = Xla.ON if self.effects[own].xla else Xla.OFF
        return own if alike == replace(own, xla=in_force) else alike

    def effect(self, candidate: Candidate) -> Effect:
        """What is in force in a candidate."""
        return self.effects[self.trained(candidate)]

    def speedup(self, candidate: Candidate) -> float:
        """The truth of this landscape: the product's own estimator over all pairs of blocks of all processes."""
        return self._speedups[candidate]

    @cached_property
    def _speedups(self) -> dict[Candidate, float]:
        found = {self.baseline: 1.0}
        for candidate in self.candidates:
            ratios = self._ratios(candidate)
            found[candidate] = math.exp(timing.centre(ratios)) if ratios else 0.0
        return found

    def interval(self, candidate: Candidate) -> Interval | None:
        """How well that truth is known; None where the pairs are too few, and for the baseline."""
        ratios = self._ratios(candidate)
        return timing.speedup(ratios) if len(ratios) >= timing.FEWEST_PAIRS else None

    def _ratios(self, candidate: Candidate) -> list[float]:
        """Log of the speedup by each pair of blocks of all processes."""
        scale = candidate.batch_size / self.baseline.batch_size
        own = [] if candidate == self.baseline else self.timings[candidate]
        return [math.log(ratio * scale) for one in own for ratio in one.ratios]

    def contenders(self, within: float, half_width: float) -> list[Candidate]:
        """Feasible candidates that may be so near to the best, while any of them is not known so well yet.

        Args:
            within: of the best's speedup, as a share.
            half_width: of the interval of each, as a share of it.
        """
        known = {one: found for one in self.feasible if (found := self.interval(one)) is not None}
        best = max((found.estimate for found in known.values()), default=1.0)
        near = {one: found for one, found in known.items() if found.high >= best * (1 - within)}
        vague = any(found.high > found.low * (1 + 2 * half_width) for found in near.values())
        return list(near) if vague else []

    def loss(self, candidate: Candidate) -> float:
        """The truth of this landscape: mean paired loss of accuracy over all recorded seeds; infinite for a failure."""
        runs, own = self.trainings[self.trained(candidate)], self.trainings[self.baseline]
        pairs = [(own[seed].metric, run.metric) for seed, run in runs.items()]
        known = [base - metric for base, metric in pairs if base is not None and metric is not None]
        return fmean(known) if known and len(known) == len(pairs) else float("inf")

    @cached_property
    def feasible(self) -> dict[Candidate, float]:
        """Speedup of each candidate whose mean loss is within the margin."""
        within = (one for one in self.candidates if self.loss(one) <= self.head.margin)
        return {candidate: self.speedup(candidate) for candidate in within}

    @cached_property
    def best(self) -> Candidate:
        """The fastest of those: what an exhaustive search would find."""
        return max([self.baseline, *self.feasible], key=self.speedup)


def device_of(host: Host) -> Device:
    """The device that a study on this host would find; without a GPU."""
    return detect({}, read_gpus=lambda: NvmlReport(NvmlStatus(False, "none here")), read_machine=lambda _: host)
