"""Which precisions are worth trying on a device, in order of promise, and why the others are not.

These are priors that save a study's time; timing decides among what is offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from autotune.config.hardware import DeviceKind
from autotune.hardware.onednn import Bf16Support, OneDnn, read_onednn
from autotune.hardware.profile import Profile

__all__ = ["PolicyChoice", "offered", "policy_choices"]

_FLOAT32, _FP16, _BF16 = "float32", "mixed_float16", "mixed_bfloat16"

# Turing chips TU116 and TU117 were built without tensor cores, and are compute capability 7.5 all
# the same (NVIDIA, product pages of the GTX 16 series, T400 to T1200 and MX450/MX550).
_TURING_WITHOUT_TENSOR_CORES = re.compile(
    r"\bGTX 16[3-6]0\b|\bT(400|500|550|600|1000|1200|2000)\b|\bMX(450|550)\b", re.IGNORECASE
)

# Never offered, whatever the device: the search compares trainings that keep float32 weights.
_LEFT_OUT = {
    "float16": "keeps weights in float16, whose updates underflow: not a training precision",
    "bfloat16": "keeps weights in bfloat16, whose 8 bits lose small updates",
}


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A Keras dtype policy, whether it is worth a trial on this hardware, and why (one clause)."""

    policy: str
    offered: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.policy} {'offered' if self.offered else 'left out'}: {self.reason}"


def policy_choices(profile: Profile, onednn: OneDnn | None = None) -> tuple[PolicyChoice, ...]:
    """Every policy that was considered: the offered ones by promise, then those left out.

    float32 is always offered, as it is the baseline.

    Args:
        profile: of the device that will run the trials, or of a target.
        onednn: how the CPU kernels behave here; for a CPU profile alone, oneDNN is assumed to be
            on and without a cap.
    """
    if profile.kind is DeviceKind.gpu:
        choices = _gpu(profile)
    elif profile.kind is DeviceKind.tpu:
        choices = _tpu()
    elif profile.kind is DeviceKind.cpu:
        choices = _cpu(onednn or _by_flags(profile.cpu_flags))
    else:
        choices = [PolicyChoice(_FLOAT32, True, "the baseline; the device is not known yet")]
    choices += [PolicyChoice(policy, False, reason) for policy, reason in _LEFT_OUT.items()]
    choices.append(_float8(profile))
    return tuple(sorted(choices, key=lambda choice: not choice.offered))


def offered(choices: Iterable[PolicyChoice]) -> tuple[str, ...]:
    """The names of the offered policies, in the order given."""
    return tuple(choice.policy for choice in choices if choice.offered)


def _gpu(profile: Profile) -> list[PolicyChoice]:
    fp16, bf16, float32 = _gpu_fp16(profile), _gpu_bf16(profile), _gpu_float32(profile)
    if _TURING_WITHOUT_TENSOR_CORES.search(profile.title):
        return [float32, fp16, bf16]
    return [fp16, bf16, float32]


def _gpu_fp16(profile: Profile) -> PolicyChoice:
    # float16 before bfloat16: at equal peak rates more of TensorFlow's GPU kernels take it, and
    # public reports have bfloat16 operations silently placed on the CPU.
    capability = profile.compute_capability
    if profile.has_tensor_cores("float16"):
        return PolicyChoice(_FP16, True, "tensor cores take float16")
    if _TURING_WITHOUT_TENSOR_CORES.search(profile.title):
        why = "no tensor cores although cc 7.5, and reported slower: let timing decide"
        return PolicyChoice(_FP16, True, why)
    if profile.peaks:
        return PolicyChoice(_FP16, False, _no_tensor_cores(capability))
    if capability is None:
        why = "unknown card of unknown compute capability: let timing decide"
        return PolicyChoice(_FP16, True, why)
    if capability < (7, 0):
        return PolicyChoice(_FP16, False, _no_tensor_cores(capability))
    why = f"unknown card, cc {_dotted(capability)} can have tensor cores: let timing decide"
    return PolicyChoice(_FP16, True, why)


def _no_tensor_cores(capability: tuple[int, int] | None) -> str:
    if capability == (6, 0):
        return (
            "no tensor cores; float16 vectors are twice as fast, but mixed precision was "
            "measured to gain nothing on P100"
        )
    return "no tensor cores and no fast vector float16 (tensor cores begin at cc 7.0)"


def _gpu_bf16(profile: Profile) -> PolicyChoice:
    capability = profile.compute_capability
    if profile.has_tensor_cores("bfloat16"):
        return PolicyChoice(_BF16, True, "tensor cores take bfloat16, and no loss scaling is needed")
    if capability is None:
        why = "unknown card of unknown compute capability: let timing decide"
        return PolicyChoice(_BF16, True, why)
    if capability < (8, 0):
        why = f"below cc 8.0 bfloat16 is cast to float32 and gains nothing (cc {_dotted(capability)})"
        return PolicyChoice(_BF16, False, why)
    if profile.peaks:
        return PolicyChoice(_BF16, False, "the profile lists no bfloat16 tensor cores")
    why = f"unknown card, cc {_dotted(capability)} should have bfloat16: let timing decide"
    return PolicyChoice(_BF16, True, why)


def _gpu_float32(profile: Profile) -> PolicyChoice:
    if profile.compute_capability is not None and profile.compute_capability >= (8, 0):
        return PolicyChoice(_FLOAT32, True, "the baseline; matmuls run in TF32 unless that is off")
    return PolicyChoice(_FLOAT32, True, "the baseline")


def _tpu() -> list[PolicyChoice]:
    return [
        PolicyChoice(_BF16, True, "the matrix unit's own type"),
        PolicyChoice(_FLOAT32, True, "the baseline"),
        PolicyChoice(_FP16, False, "float16 is no matmul type of a TPU"),
    ]


def _cpu(onednn: OneDnn) -> list[PolicyChoice]:
    return [_cpu_bf16(onednn), _cpu_fp16(onednn), PolicyChoice(_FLOAT32, True, "the baseline")]


def _cpu_bf16(onednn: OneDnn) -> PolicyChoice:
    why = onednn.bf16_reason
    if onednn.bf16 is Bf16Support.native:
        return PolicyChoice(_BF16, True, why)
    if onednn.bf16 is Bf16Support.unknown:
        return PolicyChoice(_BF16, True, f"{why}: let timing decide")
    if onednn.bf16 is Bf16Support.emulated:
        # 3 to 4 times on Skylake-SP to Ice Lake-SP; 0.41x for a matmul under such a cap on Zen 4.
        why = f"{why}, 3 to 4 times slower than float32"
    return PolicyChoice(_BF16, False, why)


def _cpu_fp16(onednn: OneDnn) -> PolicyChoice:
    if onednn.fp16_native:
        return PolicyChoice(_FP16, True, "native float16 (avx512_fp16 or amx_fp16)")
    if onednn.fp16_native is None:
        return PolicyChoice(_FP16, True, "the CPU's flags are not known: let timing decide")
    why = "float16 never pays on a CPU without avx512_fp16 or amx_fp16 (0.87x measured on Zen 4)"
    return PolicyChoice(_FP16, False, why)


def _float8(profile: Profile) -> PolicyChoice:
    capable = profile.has_tensor_cores("float8")
    why = "not searched yet" if capable else "no tensor cores that take float8 (they begin at 8.9)"
    return PolicyChoice("float8", False, why)


def _by_flags(flags: frozenset[str]) -> OneDnn:
    return read_onednn(flags, "x86_64", {"TF_ENABLE_ONEDNN_OPTS": "1"})


def _dotted(capability: tuple[int, int]) -> str:
    return ".".join(map(str, capability))
