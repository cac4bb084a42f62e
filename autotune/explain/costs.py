"""What each layer costs in one training step on a target: FLOPs, bytes, its side of the roofline, and time.

Without XLA every operation reads its inputs from memory and writes its outputs there; the traced step tells how much.
With XLA (or a library's own fusion) a layer reads its inputs and weights and writes its output once a pass: then
products stay, and what is between them costs little. An optimizer still reads each weight, its gradient and its slots,
and writes all but the gradient. What is neither a layer nor the optimizer is taken to move as much as without.

    time of a product  = max(FLOPs / (peak x tile efficiency x wave efficiency), bytes / bandwidth)
    time of the rest   = bytes / bandwidth
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from autotune.config.hardware import DeviceKind
from autotune.explain.tiles import Tiling, speed, tiling
from autotune.hardware.profile import Profile
from autotune.trial.anatomy import LayerAnatomy, Product, StepAnatomy

SIZES = {"float64": 8, "float32": 4, "tf32": 4, "float16": 2, "bfloat16": 2}

# A backward pass of a layer without products reads the gradient and one saved tensor and writes a gradient, where its
# forward pass reads one tensor and writes one.
_BACKWARD_WITHOUT_PRODUCTS = 1.5


@dataclass(frozen=True, slots=True)
class LayerCost:
    """One layer in one step of one batch.

    Attributes:
        dtype: of its products, or of its output where it has none.
        forward_flops, backward_flops: of its products.
        moved_bytes: without fusion; `fused_bytes` with it.
        bound: `compute` or `memory`, where most of its time goes; `none` for a layer that costs nothing.
        ridge: FLOP/byte at which the target's peak and bandwidth meet, in this dtype.
        tiling: of its largest forward product, where the number of multiprocessors is known.
        time_ms: at the target's full published rates; None where a rate is not known.
    """

    name: str
    kind: str
    dtype: str
    forward_flops: int
    backward_flops: int
    moved_bytes: int
    fused_bytes: int
    bound: str
    ridge: float | None
    tiling: Tiling | None
    time_ms: float | None

    @property
    def flops(self) -> int:
        """Forward and backward."""
        return self.forward_flops + self.backward_flops

    @property
    def intensity(self) -> float | None:
        """FLOP/byte, fused: what the roofline is read at."""
        return self.flops / self.fused_bytes if self.fused_bytes else None


def rate_dtype(profile: Profile, dtype: str) -> str | None:
    """The dtype whose peak a product of this dtype runs at; None where the target has no fast way for it.

    TensorFlow lets float32 products run in TF32 on tensor cores that take it.
    """
    if dtype == "float32":
        return "tf32" if profile.has_tensor_cores("tf32") else "float32"
    if dtype in ("float16", "bfloat16") and profile.kind is DeviceKind.gpu and not profile.has_tensor_cores(dtype):
        return None
    return dtype


def layer_cost(
    layer: LayerAnatomy, profile: Profile, ratio: float, *, fused: bool = False, least_bytes: int | None = None
) -> LayerCost:
    """The cost of a layer at `ratio` times the batch that it was traced for.

    Args:
        least_bytes: of what is no layer: what it moves when all of it is fused; None if that is not known.
    """
    products = [product.grown(ratio) for product in layer.products]
    dtype = _dtype(layer)
    forward = [product for product in products if not product.backward]
    largest = max(forward, key=lambda product: product.flops, default=None)
    rate = rate_dtype(profile, dtype) if largest is None else _rate(largest, profile)
    peak = profile.peak_tflops(rate) if rate is not None else None
    moved = round(layer.weight_bytes + layer.batch_bytes * ratio)
    within = _fused_bytes(layer, ratio)
    if layer.is_outside:
        within = moved if least_bytes is None else min(moved, least_bytes)
    in_products = sum((product.weight_bytes + product.batch_bytes) * product.times for product in products)
    beside = max(0, moved - in_products) if not fused else (0 if products else min(within, moved))
    compute_ms, bytes_ms, time_ms = _times_ms(products, profile, beside)
    ridge = peak * 1e3 / profile.bandwidth_gb_s if peak is not None and profile.bandwidth_gb_s else None
    return LayerCost(
        name=layer.name,
        kind=layer.kind,
        dtype=dtype,
        forward_flops=sum(product.flops for product in forward),
        backward_flops=sum(product.flops for product in products if product.backward),
        moved_bytes=moved,
        fused_bytes=within,
        bound="none" if not moved else "compute" if compute_ms > bytes_ms else "memory",
        ridge=ridge,
        tiling=None if largest is None else _tiling(largest, profile),
        time_ms=time_ms,
    )


def layer_costs(
    step: StepAnatomy, profile: Profile, batch_size: int, *, fused: bool = False, slots: int | None = None
) -> tuple[LayerCost, ...]:
    """Of all layers, the loss and the optimizer among them.

    Args:
        slots: float32 values that the optimizer keeps for each weight; None if that is not known.
    """
    ratio = batch_size / step.batch_size
    trainable = sum(layer.trainable for layer in step.layers)
    update = None if slots is None else SIZES["float32"] * trainable * (3 + 2 * slots)
    last = step.layers[-1]
    return tuple(
        layer_cost(layer, profile, ratio, fused=fused, least_bytes=update if layer is last else None)
        for layer in step.layers
    )


def _times_ms(products: list[Product], profile: Profile, beside: int) -> tuple[float, float, float | None]:
    """Time of products that compute bounds, of all that memory bounds, and both; the last None if not known."""
    if profile.bandwidth_gb_s is None:
        return 0.0, 0.0, None
    per_ms = profile.bandwidth_gb_s * 1e6
    compute_ms, bytes_ms = 0.0, beside / per_ms
    known = True
    for product in products:
        rate = _rate(product, profile)
        peak = None if rate is None else profile.peak_tflops(rate)
        if peak is None:
            known = False
            continue
        own_ms = product.flops / (peak * 1e9 * _speed(product, profile))
        moved_ms = (product.weight_bytes + product.batch_bytes) * product.times / per_ms
        if own_ms > moved_ms:
            compute_ms += own_ms
        else:
            bytes_ms += moved_ms
    return compute_ms, bytes_ms, compute_ms + bytes_ms if known else None


def _is_narrow(product: Product, profile: Profile) -> bool:
    """Whether a GPU computes it channel by channel on its vector units, as depthwise convolutions.

    No tensor core, and no tile of a matrix product, has a use for one column at a time.
    """
    one_column = product.n == 1 and product.count > 1
    return profile.kind is DeviceKind.gpu and (product.operation.startswith("Depthwise") or one_column)


def _rate(product: Product, profile: Profile) -> str | None:
    return "float32" if _is_narrow(product, profile) else rate_dtype(profile, product.dtype)


def _tiling(product: Product, profile: Profile) -> Tiling | None:
    if profile.kind is not DeviceKind.gpu or profile.sm_count is None or _is_narrow(product, profile):
        return None
    return tiling(product.m, product.n, product.count, profile.sm_count)


def _speed(product: Product, profile: Profile) -> float:
    if profile.kind is not DeviceKind.gpu or profile.sm_count is None or _is_narrow(product, profile):
        return 1.0
    return speed(product.m, product.n, product.k, product.count, profile.sm_count)


def _dtype(layer: LayerAnatomy) -> str:
    flops: Counter[str] = Counter()
    for product in layer.products:
        flops[product.dtype] += product.flops
    return flops.most_common(1)[0][0] if flops else layer.output_dtype or "float32"


def _fused_bytes(layer: LayerAnatomy, ratio: float) -> int:
    """Inputs, output and weights once a pass; nothing for a layer that only looks at its input in another way."""
    if not layer.operations:
        return 0
    size = SIZES.get(_dtype(layer), 4)
    forward = [product for product in layer.products if not product.backward]
    backward = [product for product in layer.products if product.backward]
    passes = 1 + (len(backward) / max(1, len(forward)) if layer.products else _BACKWARD_WITHOUT_PRODUCTS)
    activations = sum(math.prod(shape) for shape in layer.inputs) + math.prod(layer.output or (0,))
    times = max((product.times for product in forward), default=1)
    return round(passes * size * (activations * ratio + layer.parameters * times))
