"""What a worker finds when it takes a model apart: facts of each layer and of its training step, without a judgement.

Shapes hold the batch, in the order of the tensors. Nothing is trained.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

OUTSIDE = "step"
"""The kind of what is no layer."""


@dataclass(frozen=True, slots=True)
class Product:
    """One matrix product or convolution of the traced step, as the matrix product (m, k) by (k, n) that it amounts to.

    Attributes:
        operation: TensorFlow's name for it, such as `MatMul`.
        dtype: of its operands.
        m, n, k: rows, columns and summed elements of one of its matrices.
        count: how many such matrices it computes: groups of a convolution, entries of a batch of products.
        times: how often it runs in a step: the trips of the loop it stands in.
        backward: whether it belongs to the gradients.
        grows: which of m, n, k and count grows with the batch.
        weight_bytes, batch_bytes: what it reads and writes: of the size of a weight, and of the size of the batch.
    """

    operation: str
    dtype: str
    m: int
    n: int
    k: int
    count: int = 1
    times: int = 1
    backward: bool = False
    grows: str = "m"
    weight_bytes: int = 0
    batch_bytes: int = 0

    @property
    def flops(self) -> int:
        """Of a whole step; a multiply-add counts as two."""
        return 2 * self.m * self.n * self.k * self.count * self.times

    @property
    def is_convolution(self) -> bool:
        """Whether it is an implicit product, in which the batch is multiplied by the positions of the window."""
        return "Conv" in self.operation

    def grown(self, ratio: float) -> Product:
        """The same product at `ratio` times the batch."""
        size = max(1, round(getattr(self, self.grows) * ratio))
        scaled = replace(self, batch_bytes=round(self.batch_bytes * ratio))
        return replace(scaled, **{self.grows: size})


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the graph at the edge of float16; `value` is None where it is infinite in its own dtype."""

    value: float | None
    dtype: str


@dataclass(frozen=True, slots=True)
class Numbers:
    """Values of a layer on a real batch, computed in float32.

    Attributes:
        largest: the largest magnitude; None if it is not finite.
        vanishing: share of those that are not zero and would be zero in float16.
        vanishing_scaled: the same at the loss scale that Keras begins with.
        present: how many are not zero.
    """

    largest: float | None
    vanishing: float
    finite: bool = True
    vanishing_scaled: float = 0.0
    present: int = 0


@dataclass(frozen=True, slots=True)
class LayerAnatomy:
    """One layer of a traced training step.

    Attributes:
        name, kind: of the layer and its class; the second layer of one name is told as `name#2`, so that no two in a
            step are alike (records of older versions have some that are).
        own: whether its class is a person's own, and not Keras's.
        compute_dtype, variable_dtype: what the layer says.
        inputs, output: shapes; empty where the layer was not called.
        input_dtypes, output_dtype: of the tensors that it was really given and returned.
        parameters, trainable: counts of weights.
        settings: the plain entries of the layer's configuration.
        products: forward and backward.
        operations: those that run as kernels, forward and backward, loops counted by their trips.
        weight_bytes, batch_bytes: what all of them read and write, one after the other as without XLA: what has the
            size of a weight, and what grows with the batch.
        casts: of activations between dtypes within the layer, forward.
        float64: operations on float64.
        python: operations that call back into Python.
        softmax_dtypes: of each softmax in it.
        constants: those beyond float16's range, and those that float16 makes zero.
        compiles: whether XLA may compile it.
    """

    name: str
    kind: str
    own: bool
    compute_dtype: str
    variable_dtype: str
    inputs: tuple[tuple[int, ...], ...] = ()
    output: tuple[int, ...] = ()
    input_dtypes: tuple[str, ...] = ()
    output_dtype: str = ""
    parameters: int = 0
    trainable: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    products: tuple[Product, ...] = ()
    operations: int = 0
    weight_bytes: int = 0
    batch_bytes: int = 0
    casts: int = 0
    float64: int = 0
    python: int = 0
    softmax_dtypes: tuple[str, ...] = ()
    constants: tuple[Constant, ...] = ()
    compiles: bool = True

    @property
    def flops(self) -> int:
        """Of its products, forward and backward."""
        return sum(product.flops for product in self.products)

    @property
    def is_outside(self) -> bool:
        """Whether it is no layer, but what a step does beside them."""
        return self.kind == OUTSIDE


@dataclass(frozen=True, slots=True)
class StepAnatomy:
    """The training step of one policy.

    Attributes:
        policy: that was set when the model was built.
        batch_size: that the figures are of.
        layers: in the order in which they were called; then what the model does outside of its layers, if there is any
            such; the last two are the loss and the metrics, and the optimizer.
        output_dtypes: of the model as its builder made it.
        output_layers: names of the layers that make the outputs.
        not_mended: why the output cannot be made float32 from outside; None if it is float32 or was made so.
        loss_dtype: of what is differentiated; None where it was not seen.
        own_train_step: whether the model brings a training step of its own.
        loss_scaling: whether the optimizer is wrapped in a loss scaler.
        scales_loss: whether the step asked it to scale the loss.
        clips_scaled: whether the step clips gradients of a scaled loss.
        loss_of: what the cross-entropy is computed from: `softmax`, `sigmoid`, `log of softmax`, `log of sigmoid`,
            `log of other`, `logits`; empty without one.
    """

    policy: str
    batch_size: int
    layers: tuple[LayerAnatomy, ...]
    output_dtypes: tuple[str, ...]
    output_layers: tuple[str, ...]
    not_mended: str | None = None
    loss_dtype: str | None = None
    own_train_step: bool = False
    loss_scaling: bool = False
    scales_loss: bool = False
    clips_scaled: bool = False
    loss_of: tuple[str, ...] = ()

    @property
    def operations(self) -> int:
        """Kernels of one step."""
        return sum(layer.operations for layer in self.layers)

    def layer(self, name: str) -> LayerAnatomy | None:
        """The layer of that name."""
        return next((layer for layer in self.layers if layer.name == name), None)


@dataclass(frozen=True, slots=True)
class Compiled:
    """How the builder had compiled the model, which is compiled anew for every candidate.

    Attributes:
        loss: as Keras spells it; empty where it had none.
        known: whether Keras knows a loss of that name.
        from_logits: whether that loss takes logits.
    """

    loss: str
    optimizer: str
    run_eagerly: bool
    known: bool = True
    from_logits: bool = False


@dataclass(frozen=True, slots=True)
class Ranges:
    """Magnitudes on one real batch, in float32, at the initial weights.

    Attributes:
        examples: in the batch.
        activations: by layer, of its output.
        gradients: by layer, of the loss with respect to its output and its weights, without loss scaling; those of
            outputs as they are at the user's own batch, over which a loss is averaged.
        vanishing_scaled: share of all gradients that are not zero and would be zero in float16 at the loss scale.
        scale: the loss scale that Keras begins with.
        output_low, output_high: of the model's outputs.
        output_sum_off: how far the outputs of an example are from summing to one, at most.
    """

    examples: int
    activations: dict[str, Numbers]
    gradients: dict[str, Numbers]
    vanishing: float
    vanishing_scaled: float
    scale: float
    output_low: float | None
    output_high: float | None
    output_sum_off: float | None


@dataclass(frozen=True, slots=True)
class Targets:
    """The training part's inputs and targets; magnitudes of at most some thousand examples.

    Attributes:
        examples: in the training part.
        x_low, x_high: of the inputs, as training gets them.
        y_low, y_high, y_spread: of the targets; the last is the standard deviation.
        whole_x: of records of older versions; nothing reads it.
    """

    examples: int
    x_low: float
    x_high: float
    y_low: float
    y_high: float
    y_spread: float
    labels: bool
    whole_x: bool | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """What this host really does, measured in a few seconds on a machine that others may use too.

    Attributes:
        tflops: by dtype, of matrix products of 1024 x 1024 x 1024; without a dtype that it does not multiply.
        bandwidth_gb_s: of adding an array to another one, neither of which a cache holds.
        operation_us: of one small operation in a compiled function [microseconds].
        call_ms: of one step of `fit` on a model with next to nothing in it [ms].
        new_memory_gb_s: of results that are so large that the system hands out new memory for each; None in records
            from before it was measured.
    """

    tflops: dict[str, float]
    bandwidth_gb_s: float
    operation_us: float
    call_ms: float
    new_memory_gb_s: float | None = None


@dataclass(frozen=True, slots=True)
class ModelAnatomy:
    """Everything that was found; `failures` tell what could not be, by what it was.

    Attributes:
        float32: the step in float32.
        reduced: the step under the 16-bit policy that was asked for; None where that failed.
        reused: whether the builder returned one and the same model twice.
        compiled: how the builder had compiled the model; None if it had not.
        optimizer: its class name.
        loss: that it is trained with, as Keras spells it.
        epsilon: of the optimizer; None if it has none.
        variables_per_weight: float32 values that the optimizer keeps for each weight.
        feed_ms: measured time of making one batch on this host [ms].
        deterministic: whether TensorFlow's determinism switch is on.
        seconds: what each part of this took.
        calibration: of this host, where it was asked for.
    """

    float32: StepAnatomy
    reduced: StepAnatomy | None
    targets: Targets
    ranges: Ranges | None
    reused: bool
    compiled: Compiled | None
    optimizer: str
    epsilon: float | None
    variables_per_weight: int
    feed_ms: float | None
    deterministic: bool
    failures: dict[str, str]
    seconds: dict[str, float]
    calibration: Calibration | None = None
    loss: str = ""
