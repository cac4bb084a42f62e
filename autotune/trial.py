"""The values that travel between rooms: what is asked, what was measured, what was concluded.

Everything here is plain, frozen and free of any framework, so that it crosses the pipe to the worker, lands in the
record and comes back unchanged. Times are in the unit that the name says; a quantity that could not be had is `None`,
never zero.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any


class FailureKind(enum.StrEnum):
    """Why a trial has no result."""

    OOM = "oom"
    NAN = "nan"
    COMPILE = "compile"
    TIMEOUT = "timeout"
    CRASH = "crash"
    INVALID = "invalid"
    UNSUPPORTED = "unsupported"


class Stage(enum.StrEnum):
    """Where in a study something happened."""

    BASELINE = "baseline"
    SCREEN = "screen"
    VERIFY = "verify"
    CONFIRM = "confirm"
    EXPORT = "export"


class AccuracyVerdict(enum.StrEnum):
    """Whether a candidate is not less accurate than float32, within the margin."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"


class TimingVerdict(enum.StrEnum):
    """How a candidate's throughput compares with the baseline's."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    UNCLEAR = "UNCLEAR"


class TrialState(enum.StrEnum):
    """What has become of a trial; every state but SCREENED is final."""

    SCREENED = "screened"
    PASSED = "passed"  # went through the accuracy gate of the verify stage
    REJECTED = "rejected"  # trained and missed the accuracy gate
    DOMINATED = "dominated"  # slower than one that passed: it was not worth training
    SKIPPED = "skipped"  # might be faster, but was not trained for the reason given
    SLOWER = "slower"  # not faster than the baseline: nothing to verify
    FAILED = "failed"  # has no result; see its failure


class Xla(enum.StrEnum):
    """What is asked of `compile(jit_compile=...)`."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Policy:
    """A Keras dtype policy: one object all the way to the worker, so that it can grow into a map of layers."""

    name: str

    @property
    def is_float32(self) -> bool:
        """Whether nothing is reduced."""
        return self.name == "float32"

    @property
    def compute_dtype(self) -> str:
        """The dtype that layers are asked to compute in."""
        return self.name.removeprefix("mixed_")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Candidate:
    """One point of the search space.

    Attributes:
        policy: the dtype policy.
        batch_size: examples per optimizer step.
        xla: what to ask of XLA; `AUTO` is the baseline's (Keras then decides).
        widths: layer widths handed to the model's builder, in its order.
        steps_per_execution: optimizer steps in one call of the compiled train function.
    """

    policy: Policy
    batch_size: int
    xla: Xla
    widths: tuple[int, ...]
    steps_per_execution: int = 1

    def __str__(self) -> str:
        widths = "-".join(map(str, self.widths)) or "none"
        return (
            f"{self.policy} batch={self.batch_size} xla={self.xla.value} widths={widths}"
            f" steps_per_execution={self.steps_per_execution}"
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """A typed reason why something has no result."""

    kind: FailureKind
    message: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.message}"


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with a two-sided confidence interval.

    Attributes:
        estimate: the point estimate, in the unit of what was measured.
        low: lower bound.
        high: upper bound.
        level: two-sided confidence, 0.95 for 95 %.
        n: how many samples or pairs it rests on.
        method: how it was computed, for a reader.
    """

    estimate: float
    low: float
    high: float
    level: float
    n: int
    method: str

    @property
    def relative_half_width(self) -> float:
        """Half the interval's width over the estimate; infinite for an estimate of zero."""
        return (self.high - self.low) / (2 * abs(self.estimate)) if self.estimate else float("inf")


@dataclass(frozen=True, slots=True)
class LayerEffect:
    """What one layer really does.

    Attributes:
        name: the layer's name.
        kind: its class name.
        compute_dtype: the dtype it computes in.
        variable_dtype: the dtype of its weights.
        parameters: weights it holds.
        flops_per_example: multiply-adds counted twice, forward only; `None` where the layer's kind is not known.
        activations_per_example: elements in its output.
    """

    name: str
    kind: str
    compute_dtype: str
    variable_dtype: str
    parameters: int
    flops_per_example: int | None
    activations_per_example: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What is in force, as against what was asked.

    Attributes:
        xla: whether the train function is compiled by XLA.
        layers: one entry a layer, in the model's order.
        output_dtype: dtype of the model's output.
        loss_scaling: whether the optimizer is wrapped in a loss scaler.
        optimizer: class name of the (inner) optimizer.
        tf32: whether float32 matrix products may run in TF32; `None` where the device has none.
        deterministic: whether TensorFlow's determinism switch is on.
        placed_on: the kind of device that the weights live on, such as `CPU` or `GPU`.
    """

    xla: bool
    layers: tuple[LayerEffect, ...]
    output_dtype: str
    loss_scaling: bool
    optimizer: str
    tf32: bool | None
    deterministic: bool
    placed_on: str

    @property
    def parameters(self) -> int:
        """Weights of all layers."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def flops_per_example(self) -> int:
        """Forward FLOPs of the layers whose FLOPs are known."""
        return sum(layer.flops_per_example or 0 for layer in self.layers)

    @property
    def share_16bit(self) -> float:
        """Share of the known forward FLOPs that run in a 16-bit dtype, 0 to 1."""
        total = self.flops_per_example
        low = sum(
            layer.flops_per_example or 0 for layer in self.layers if layer.compute_dtype in ("float16", "bfloat16")
        )
        return low / total if total else 0.0

    @property
    def effective_dtype(self) -> str:
        """The dtype that most of the known FLOPs run in."""
        share: dict[str, int] = {}
        for layer in self.layers:
            share[layer.compute_dtype] = share.get(layer.compute_dtype, 0) + (layer.flops_per_example or 0)
        return max(share, key=lambda dtype: share[dtype]) if share else "float32"


@dataclass(frozen=True, slots=True)
class Probe:
    """Timed training steps of one candidate.

    The two tuples of blocks are paired: entry i of both was measured one right after the other in the same process.

    Attributes:
        candidate: what was asked.
        effect: what was in force.
        block_step_ms: mean step time of each block [ms], candidate.
        baseline_step_ms: mean step time of the neighbouring baseline block [ms]; empty when the baseline is probed.
        steps_per_block: optimizer steps in one candidate block.
        warmup_step_ms: step times of the blocks before timing began [ms], kept apart.
        build_s: building and compiling the model object [s].
        first_step_s: the first train call: tracing, XLA compilation and one step [s].
        peak_memory_mb: peak device memory; on a CPU, the growth of the process's resident size; `None` if unknown.
        loss: training loss after the last timed step; `None` if it was not finite.
        loss_finite: whether the loss was finite.
        worker: which worker process measured it (counted from 1 in a study).
    """

    candidate: Candidate
    effect: Effect
    block_step_ms: tuple[float, ...]
    baseline_step_ms: tuple[float, ...]
    steps_per_block: int
    warmup_step_ms: tuple[float, ...]
    build_s: float
    first_step_s: float
    peak_memory_mb: float | None
    loss: float | None
    loss_finite: bool
    worker: int = 0

    @property
    def step_time_ms(self) -> float:
        """Median step time over blocks [ms]."""
        ordered = sorted(self.block_step_ms)
        middle = len(ordered) // 2
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

    @property
    def examples_per_s(self) -> float:
        """Throughput at the median step time [examples/s]."""
        return self.candidate.batch_size / self.step_time_ms * 1e3

    @property
    def compile_s(self) -> float:
        """The first train call less one steady step [s]."""
        return max(0.0, self.first_step_s - self.step_time_ms * self.candidate.steps_per_execution / 1e3)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model was trained; a verdict speaks of this and of nothing else.

    Attributes:
        examples: training examples used in each epoch.
        epochs: passes over them.
        batch_size: examples per optimizer step.
        optimizer: name of the optimizer.
        learning_rate: peak learning rate after scaling with the batch.
        base_learning_rate: the user's own, at the user's own batch size.
        scaling: rule by which the learning rate follows the batch: none, sqrt or linear.
        schedule: cosine (to zero), constant or step.
        warmup_steps: optimizer steps of linear warm-up, already rescaled with the batch.
        total_steps: optimizer steps in all.
    """

    examples: int
    epochs: int
    batch_size: int
    optimizer: str
    learning_rate: float
    base_learning_rate: float
    scaling: str
    schedule: str
    warmup_steps: int
    total_steps: int

    def __str__(self) -> str:
        return f"{self.examples:,} examples x {self.epochs} epochs"


@dataclass(frozen=True, slots=True)
class EpochPoint:
    """One epoch of a training run; `None` where a value was not finite or not evaluated."""

    epoch: int
    train_loss: float | None
    metric: float | None
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One training of one candidate on one seed.

    Attributes:
        metric: the constraint's metric on the whole validation part, at the end; `None` if it was not finite.
        curve: one point an epoch.
        iterations: optimizer steps applied, as the optimizer counts them.
        skipped_steps: steps that the loss scaler skipped (attempted less applied).
        loss_scale: loss scale at the end; `None` without loss scaling.
        loss_finite: whether every epoch's loss was finite.
        train_s: wall clock of `fit`, evaluation apart [s].
        weights_digest: digest of the initial weights, which shows that two runs started alike.
        model_path: where the trained model was kept, or `None`.
    """

    candidate: Candidate
    seed: int
    recipe: Recipe
    metric: float | None
    curve: tuple[EpochPoint, ...]
    iterations: int
    skipped_steps: int
    loss_scale: float | None
    loss_finite: bool
    train_s: float
    weights_digest: str
    effect: Effect
    model_path: str | None = None
    worker: int = 0


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """What the worker says about the data it loaded; sizes in examples.

    Attributes:
        stand_in: why this is not the data that was asked for, or `None` if it is.
        origin: where it was read from.
        fingerprint: digest of contents and split.
    """

    name: str
    train: int
    validation: int
    test: int
    input_shape: tuple[int, ...]
    num_classes: int | None
    origin: str
    fingerprint: str
    stand_in: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What the worker says about itself once the framework is imported.

    Attributes:
        accelerator: `GPU`, `TPU` or `CPU`: what models are placed on.
        devices: the framework's device list, with what it says of each.
        intra_op_threads: threads within one operation, as in force (0: the framework's choice, one per core).
        inter_op_threads: operations run at once, as in force.
        versions: package name to version.
        environment: variables that were set for the worker and change what is measured.
    """

    accelerator: str
    devices: tuple[dict[str, Any], ...]
    intra_op_threads: int
    inter_op_threads: int
    onednn: bool | None
    tf32: bool | None
    versions: dict[str, str]
    environment: dict[str, str]
    import_s: float
    pid: int


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A judged accuracy difference against the baseline, candidate minus baseline, oriented so that higher is better.

    Attributes:
        verdict: PASS, FAIL or INCONCLUSIVE.
        delta: mean paired difference with its interval, in the metric's own unit.
        deltas: one paired difference a seed, in the order of `seeds`.
        seeds: the seeds.
        margin: how far the metric may fall, absolute.
        level: the one-sided level of this look.
        seeds_needed: seeds that would decide it if the spread stays as it is; `None` when decided or not estimable.
    """

    verdict: AccuracyVerdict
    delta: Interval
    deltas: tuple[float, ...]
    seeds: tuple[int, ...]
    margin: float
    level: float
    seeds_needed: int | None = None


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a finalist showed on new seeds and in fresh processes: the only figures that are quoted.

    Attributes:
        timing: verdict on throughput.
        speedup: throughput over the baseline's, over all processes.
        per_process: point estimate of each fresh process.
        accuracy: the accuracy verdict on new seeds; `None` if no training finished.
        baseline_metric: mean metric of the baseline on the same seeds.
        metric: mean metric of the candidate on the same seeds.
        step_time_ms: median step time [ms].
        baseline_step_time_ms: median step time of the baseline in the same processes [ms].
    """

    trial: int
    candidate: Candidate
    timing: TimingVerdict
    speedup: Interval | None
    per_process: tuple[float, ...]
    accuracy: Accuracy | None
    baseline_metric: float | None
    metric: float | None
    step_time_ms: float | None
    baseline_step_time_ms: float | None
    recipe: Recipe | None
    failure: Failure | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it is both faster and not less accurate."""
        return (
            self.timing is TimingVerdict.FASTER
            and self.accuracy is not None
            and self.accuracy.verdict is AccuracyVerdict.PASS
        )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of the space that is not searched, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class SpaceSummary:
    """The space, for a reader: choices per dimension, how many candidates, what was left out and why."""

    policies: tuple[str, ...]
    batch_sizes: tuple[int, ...]
    xla: tuple[str, ...]
    steps_per_execution: tuple[int, ...]
    widths: tuple[tuple[int, ...], ...]
    size: int
    left_out: tuple[LeftOut, ...] = field(default=())
