"""What a built model really does, as against what was asked of it."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.trial.candidate import Pipeline


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
        activations_per_example: elements in its output, of all its calls in a step; `None` where that is not known.
    """

    name: str
    kind: str
    compute_dtype: str
    variable_dtype: str
    parameters: int
    flops_per_example: int | None
    activations_per_example: int | None


@dataclass(frozen=True, slots=True)
class Products:
    """Matrix products and convolutions of one traced training step that run in one dtype, forward and backward.

    Attributes:
        dtype: the dtype of their operands in the graph that TensorFlow runs.
        operations: how many there are.
        flops: of all of them for one optimizer step, a multiply-add counted twice.
    """

    dtype: str
    operations: int
    flops: int


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
        products: what the traced training step really computes in, by dtype; empty where it could not be traced.
        own_train_step: whether the model brings a `train_step` of its own.
        scales_loss: whether the traced training step asks the optimizer to scale its loss; `None` without loss scaling
            or where the step could not be traced.
        accumulation: micro-batches that the optimizer takes for one step.
        pipeline: where the training step takes its batches from: what it is fed, or arrays on the device.
    """

    xla: bool
    layers: tuple[LayerEffect, ...]
    output_dtype: str
    loss_scaling: bool
    optimizer: str
    tf32: bool | None
    deterministic: bool
    placed_on: str
    products: tuple[Products, ...] = ()
    own_train_step: bool = False
    scales_loss: bool | None = None
    accumulation: int = 1
    pipeline: Pipeline = Pipeline.HOST

    @property
    def parameters(self) -> int:
        """Weights of all layers."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def flops_per_example(self) -> int:
        """Forward FLOPs of the layers whose FLOPs are known."""
        return sum(layer.flops_per_example or 0 for layer in self.layers)

    @property
    def activations_per_example(self) -> int | None:
        """Elements in the outputs of all layers; `None` where those of any are not known."""
        sizes = [layer.activations_per_example for layer in self.layers]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    @property
    def is_traced(self) -> bool:
        """Whether the share and the dtype below are measured on the traced training step, not declared by layers."""
        return any(product.flops for product in self.products)

    @property
    def share_16bit(self) -> float:
        """Share of the known FLOPs that run in a 16-bit dtype, 0 to 1; see `is_traced`."""
        flops = self._flops_by_dtype()
        total = sum(flops.values())
        return (flops.get("float16", 0) + flops.get("bfloat16", 0)) / total if total else 0.0

    @property
    def effective_dtype(self) -> str:
        """The dtype that most of the known FLOPs run in; see `is_traced`."""
        flops = self._flops_by_dtype()
        return max(flops, key=lambda dtype: flops[dtype]) if flops else "float32"

    def _flops_by_dtype(self) -> dict[str, int]:
        """Of the traced step, forward and backward; else forward, in the dtypes that layers say they compute in."""
        if self.is_traced:
            return {product.dtype: product.flops for product in self.products}
        flops: dict[str, int] = {}
        for layer in self.layers:
            flops[layer.compute_dtype] = flops.get(layer.compute_dtype, 0) + (layer.flops_per_example or 0)
        return flops
