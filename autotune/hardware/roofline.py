"""Predicted step times and memory bounds, from published peaks alone.

For a target that is not here. Nothing in it was measured, and a `Prediction` says so: it is shown
in a column of its own and never compared with a measured time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from autotune.config.hardware import DeviceKind
from autotune.hardware.profile import Profile

__all__ = [
    "PASSES",
    "STEP_OVERHEAD_MS",
    "Prediction",
    "Work",
    "WorkKind",
    "batch_bound",
    "predict_step_time_ms",
]

_COMPUTE_DTYPE = {
    "float32": "float32",
    "mixed_float16": "float16",
    "mixed_bfloat16": "bfloat16",
}
_BYTES = {"float32": 4, "tf32": 4, "float16": 2, "bfloat16": 2}

# The host's part of a step (Python, tf.data, launching kernels). The one published figure of this
# kind: the CIFAR-10 MLP 3072-3000-1000-10 with batch 32 on an RTX 2080 took 501 s for 50 epochs of
# 1,563 steps in float32, 6.4 ms a step, of which this roofline explains 0.7 ms.
STEP_OVERHEAD_MS = 5.7

# Forward, gradient of the inputs, gradient of the weights: three matrix products of one size.
PASSES = 3

# Share of device memory that batches can have: the framework's context, cuDNN workspaces and
# fragmentation take the rest. An assumption, not a measurement.
_USABLE_MEMORY = 0.9


class WorkKind(Enum):
    """What bounds a layer: `memory` is activations, pooling and normalisation, without a matmul."""

    dense = "dense"
    conv = "conv"
    memory = "memory"


@dataclass(frozen=True, slots=True)
class Work:
    """One layer, for one example.

    Attributes:
        flops_per_example: of the forward pass; 2 x inputs x units for a dense layer.
        weight_params: trainable parameters.
        activation_elements_per_example: elements read and written, inputs + outputs.
    """

    name: str
    flops_per_example: float
    weight_params: int
    activation_elements_per_example: int
    kind: WorkKind = WorkKind.dense


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted step. `assumptions` are for the reader of the figure, one sentence each."""

    step_time_ms: float
    compute_ms: float
    optimizer_ms: float
    overhead_ms: float
    policy: str
    compute_dtype: str
    assumptions: tuple[str, ...]


def predict_step_time_ms(
    profile: Profile,
    works: Iterable[Work],
    policy: str,
    batch_size: int,
    *,
    optimizer_slots: int = 0,
    overhead_ms: float = STEP_OVERHEAD_MS,
    tf32: bool = True,
) -> Prediction | None:
    """Roofline of one training step: per layer max(FLOPs / peak, bytes / bandwidth).

    Each of the three products of a layer moves its weights and activations once (for a GEMM,
    s(MK + KN + MN) bytes with s bytes an element). The optimizer works in float32: it reads the
    gradient, reads and writes the weight and each of its slots; under a mixed policy the 16-bit
    copy of the weights is made anew, 4 bytes read and 2 written.

    Args:
        profile: of the target.
        works: the model's layers.
        policy: float32, mixed_float16 or mixed_bfloat16.
        batch_size: examples a step.
        optimizer_slots: float32 values that the optimizer keeps per parameter: SGD 0, with
            momentum 1, RMSprop 1, Adam 2.
        overhead_ms: the host's part, per step.
        tf32: whether float32 products may run in TF32, where the profile has it.

    Returns:
        None where the profile has no peak rate for the dtype, or no bandwidth, or the policy is
        not one of the three.
    """
    dtype = _compute_dtype(profile, policy, tf32)
    peak_tflops = profile.peak_tflops(dtype) if dtype else None
    if dtype is None or peak_tflops is None or profile.bandwidth_gb_s is None:
        return None
    layers = tuple(works)
    peak_per_ms, bytes_per_ms = peak_tflops * 1e9, profile.bandwidth_gb_s * 1e6
    compute_ms = 0.0
    for work in layers:
        flops = work.flops_per_example * batch_size if work.kind is not WorkKind.memory else 0.0
        elements = work.weight_params + work.activation_elements_per_example * batch_size
        moved_ms = elements * _BYTES[dtype] / bytes_per_ms
        compute_ms += PASSES * max(flops / peak_per_ms, moved_ms)
    params = sum(work.weight_params for work in layers)
    update_bytes = 4 * (3 + 2 * optimizer_slots) + (6 if _BYTES[dtype] == 2 else 0)
    optimizer_ms = params * update_bytes / bytes_per_ms
    return Prediction(
        compute_ms + optimizer_ms + overhead_ms,
        compute_ms,
        optimizer_ms,
        overhead_ms,
        policy,
        dtype,
        _assumptions(profile, dtype, peak_tflops, overhead_ms),
    )


def batch_bound(
    memory_gb: float | None,
    params: int,
    activations_per_example: int | None,
    policy: str,
    *,
    optimizer_slots: int = 0,
) -> int | None:
    """The largest batch that should fit in device memory.

    0.9 x memory = params x (4 weight + 4 gradient + 4 a slot [+ 2, the 16-bit copy])
                   + batch x activations x 2 x s,

    with s bytes an element of the compute dtype, twice as the backward pass needs the gradient of
    each activation. An upper bound for planning: workspaces of convolutions are not in it, and an
    out-of-memory below it is still a trial's own failure.

    Args:
        memory_gb: in 1e9 bytes; None if unknown. A vendor's "GB" is nearer to 2**30 bytes, so a
            profile's figure errs on the safe side.
        params: trainable parameters of the model.
        activations_per_example: outputs of all layers, elements; None if unknown.
        policy: float32, mixed_float16 or mixed_bfloat16.
        optimizer_slots: as for `predict_step_time_ms`.

    Returns:
        0 if the weights alone do not fit, None if the memory, the activations or the policy's dtype are not known.
    """
    dtype = _COMPUTE_DTYPE.get(policy)
    if memory_gb is None or dtype is None or not activations_per_example:
        return None
    size = _BYTES[dtype]
    fixed = params * (8 + 4 * optimizer_slots + (size if size == 2 else 0))
    free = _USABLE_MEMORY * memory_gb * 1e9 - fixed
    return max(0, int(free // (activations_per_example * 2 * size)))


def _compute_dtype(profile: Profile, policy: str, tf32: bool) -> str | None:
    dtype = _COMPUTE_DTYPE.get(policy)
    if tf32 and dtype == "float32" and profile.has_tensor_cores("tf32"):
        return "tf32"  # TensorFlow's default for float32 matmuls from cc 8.0
    if dtype is None or dtype == "float32" or profile.kind is not DeviceKind.gpu:
        return dtype
    return dtype if profile.has_tensor_cores(dtype) else None


def _assumptions(profile: Profile, dtype: str, peak_tflops: float, overhead_ms: float) -> tuple[str, ...]:
    return (
        "predicted from published peaks, not measured",
        f"every layer reaches {peak_tflops:g} TFLOP/s in {dtype} or {profile.bandwidth_gb_s:g} "
        f"GB/s on {profile.title}, whichever takes longer",
        "forward and backward together are three times the forward pass",
        "the optimizer updates in float32",
        f"the host adds {overhead_ms:g} ms to every step",
    )
