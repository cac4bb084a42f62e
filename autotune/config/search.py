"""`search=...`: how much is tried, and at what cost."""

import enum
from dataclasses import dataclass, field
from typing import List, Optional

from autotune.config.checks import did_you_mean, duration_s, positive, require
from autotune.errors import ConfigError

SEARCHABLE_POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")

# Importing the framework, one baseline and one export take about half of this on a small machine.
SHORTEST_BUDGET_S = 30.0


class Sampler(enum.Enum):
    """Who proposes candidates; `auto` takes what likely goes best together, then a grid or, in large spaces, tpe."""

    auto = "auto"
    tpe = "tpe"
    random = "random"
    grid = "grid"
    gp = "gp"
    nsga2 = "nsga2"

    @property
    def informed(self) -> bool:
        """Whether it begins with what a person would try first; those that people compare with do not."""
        return self not in (Sampler.random, Sampler.grid)


class InputPipeline(enum.Enum):
    """Where batches are put together: on the host, or on the device that holds the training arrays."""

    host = "host"
    device = "device"


class Verify(enum.Enum):
    """Which screened candidates are trained: fastest first until enough pass, or all of them."""

    fastest = "fastest"
    all = "all"


@dataclass
class TimingConfig:
    """How throughput is sampled.

    Attributes:
        block_s: shortest length of one timed block [s].
        min_pairs: baseline/candidate pairs before the stopping rule may look; screening may give a clear loser up
            after eight.
        max_pairs: pairs after which sampling ends whatever the interval.
        half_width: relative half-width of a finalist's speedup interval at which sampling ends.
        max_s: cap on the timed part of one confirming probe [s]; at least six pairs are taken whatever it is.
        screen_half_width: the same for screening, which only ranks.
        screen_max_s: the same for screening [s].
        processes: fresh processes that confirm a finalist's speed.
        rounds: alternations of workers where baseline and candidate do not fit into memory together.
        pipeline: whether the share of the input pipeline is measured, for the baseline and for finalists.
    """

    block_s: float = 0.1
    min_pairs: int = 10
    max_pairs: int = 30
    half_width: float = 0.02
    max_s: float = 20.0
    screen_half_width: float = 0.05
    screen_max_s: float = 5.0
    processes: int = 3
    rounds: int = 3
    pipeline: bool = True

    def __post_init__(self) -> None:
        for key in ("block_s", "half_width", "max_s", "screen_half_width", "screen_max_s"):
            positive(f"search.timing.{key}", getattr(self, key))
        require(
            self.min_pairs >= 6, "search.timing.min_pairs must be at least 6", self.min_pairs, "fewer have no interval"
        )
        require(
            self.max_pairs >= self.min_pairs,
            f"search.timing.max_pairs must be at least search.timing.min_pairs ({self.min_pairs})",
            self.max_pairs,
        )
        require(self.processes >= 1, "search.timing.processes must be at least 1", self.processes)
        require(self.rounds >= 2, "search.timing.rounds must be at least 2", self.rounds, "one round has no spread")


@dataclass
class SearchConfig:
    """The search space, its sampler and its budget.

    Attributes:
        trials: candidates measured at most. Beyond, auto measures one for each that turns out meanwhile to lose
            accuracy clearly, and up to a third as many again after each that the gate then refuses so.
        budget: wall clock of the whole study: seconds, or 90s, 5m, 2h; null for no limit.
        policies: dtype policies; null lets the hardware decide.
        batch_sizes: null: the user's own, doubled until `max_batch_factor`, memory or the data end it, or nothing is
            gained; where memory ends it, sizes between are tried as long as throughput grows.
        max_batch_factor: largest batch, as a multiple of the user's own.
        xla: whether XLA is tried on, off, or both.
        steps_per_execution: optimizer steps per call of the train function.
        accumulation: micro-batches per optimizer step that are tried; the batch stays the examples per optimizer step.
        tf32: TF32 on or off, tried for float32 beside the user's own `train.tf32`; null: it is not searched.
        pipeline: where batches are put together: host, or device (the training arrays live there).
        align_widths: whether the next aligned widths upwards are tried beside the user's own.
        max_growth: by how much a width may grow to be aligned, 0.05 = 5 %.
        sampler: auto, tpe, gp (a Gaussian process; needs the package torch), nsga2, random, or grid: every candidate
            in order. A space no larger than `trials` is measured whole, but auto ends once nothing that is left is
            likely to be the best, unless all that is measured is to be trained.
        seed: of the sampler.
        warm_start: whether the best of the latest study of the same model, data, objective and device below
            `output.root` are proposed first; only their order is taken over, never a measurement.
        verify: fastest or all.
        gate_seeds: seeds on which a candidate is trained in the verify stage.
        early_stop: whether a training of the verify stage ends early where it is hopelessly behind float32's learning
            curve (see `autotune.decide.stopping`); never with verify=all or objective=pareto, nor in the
            confirmation.
        fallback: whether a candidate that loses accuracy in 16 bit is tried again with its 1, 2, 4, ... most harmful
            layers in float32, as trials beyond `trials` (see `autotune.study.fallback`).
        finalists: accuracy verdicts looked at most; the error level is shared among them.
        trial_timeout_s: longest time one request to the worker may take [s].
        max_worker_growth_mb: a worker that has grown by this much is replaced [MB].
    """

    trials: int = 10
    budget: Optional[str] = "6m"
    policies: Optional[List[str]] = None
    batch_sizes: Optional[List[int]] = None
    max_batch_factor: int = 16
    xla: List[bool] = field(default_factory=lambda: [False, True])
    steps_per_execution: List[int] = field(default_factory=lambda: [1, 8])
    accumulation: List[int] = field(default_factory=lambda: [1])
    tf32: Optional[List[bool]] = None
    pipeline: List[InputPipeline] = field(default_factory=lambda: [InputPipeline.host])
    align_widths: bool = True
    max_growth: float = 0.05
    sampler: Sampler = Sampler.auto
    seed: int = 0
    warm_start: bool = True
    verify: Verify = Verify.fastest
    gate_seeds: int = 2
    early_stop: bool = True
    fallback: bool = False
    finalists: int = 2
    trial_timeout_s: float = 300.0
    max_worker_growth_mb: float = 4000.0
    timing: TimingConfig = field(default_factory=TimingConfig)

    def __post_init__(self) -> None:
        require(self.trials >= 1, "search.trials must be at least 1", self.trials)
        if self.budget is not None:
            seconds = duration_s("search.budget", self.budget)
            require(
                seconds >= SHORTEST_BUDGET_S,
                f"search.budget must be at least {SHORTEST_BUDGET_S:.0f} s, the time to start and measure a baseline",
                self.budget,
            )
        for policy in self.policies or ():
            if policy not in SEARCHABLE_POLICIES:
                raise ConfigError(
                    f"search.policies must be among {', '.join(SEARCHABLE_POLICIES)}, but got {policy!r}."
                    + did_you_mean(policy, SEARCHABLE_POLICIES)
                )
        for key in ("policies", "batch_sizes", "xla", "steps_per_execution", "accumulation", "tf32", "pipeline"):
            values = getattr(self, key)
            require(values is None or len(values) > 0, f"search.{key} must not be empty", values)
            require(values is None or len(set(values)) == len(values), f"search.{key} must not repeat a value", values)
        for key in ("batch_sizes", "steps_per_execution", "accumulation"):
            values = getattr(self, key)
            require(all(n >= 1 for n in values or ()), f"search.{key} must be whole numbers of at least 1", values)
        require(self.max_batch_factor >= 1, "search.max_batch_factor must be at least 1", self.max_batch_factor)
        require(self.max_growth >= 0, "search.max_growth must not be negative", self.max_growth)
        require(self.seed >= 0, "search.seed must not be negative", self.seed)
        require(self.gate_seeds >= 2, "search.gate_seeds must be at least 2", self.gate_seeds)
        require(self.finalists >= 1, "search.finalists must be at least 1", self.finalists)
        positive("search.trial_timeout_s", self.trial_timeout_s)
        positive("search.max_worker_growth_mb", self.max_worker_growth_mb)

    @property
    def budget_s(self) -> Optional[float]:
        """The budget [s], or None for no limit."""
        return None if self.budget is None else duration_s("search.budget", self.budget)
