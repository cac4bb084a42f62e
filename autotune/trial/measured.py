"""What was measured: numbers from the worker, unjudged. A quantity that could not be had is `None`, never zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autotune.trial.candidate import Candidate


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
        peak_memory_mb: peak memory above what was in use before [MB], on the device, or of the process on a CPU; `None`
            if unknown.
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
        """The first train call less the steady steps of one execution [s]."""
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
