"""What TensorFlow's CPU kernels will do here: whether oneDNN is on, and how 16-bit types fare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

__all__ = ["Bf16Support", "OneDnn", "read_onednn"]

# TensorFlow turns oneDNN on by default on Linux x86 where a neural-network extension is present
# (tensorflow/core/util/util.cc, IsMKLEnabled and port.cc).
_DEFAULT_ON_FLAGS = ("avx512_vnni", "avx512_bf16", "avx_vnni")
_TRUE = ("1", "true")
_FALSE = ("0", "false")

# oneDNN developer guide, CPU dispatcher control: the caps in ascending order. DNNL_ is the
# library's former prefix, still read.
_ISA_VARIABLES = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")
_ISA_ORDER = (
    "SSE41",
    "AVX",
    "AVX2",
    "AVX2_VNNI",
    "AVX2_VNNI_2",
    "AVX512_CORE",
    "AVX512_CORE_VNNI",
    "AVX512_CORE_BF16",
    "AVX512_CORE_FP16",
    "AVX512_CORE_AMX",
    "AVX512_CORE_AMX_FP16",
)
_ISA_ALIASES = {
    "AVX10_1_512": "AVX512_CORE_FP16",
    "AVX10_1_512_AMX": "AVX512_CORE_AMX",
    "AVX10_1_512_AMX_FP16": "AVX512_CORE_AMX_FP16",
}


class Bf16Support(Enum):
    """How a bfloat16 matmul runs on this CPU under TensorFlow."""

    native = "native"
    emulated = "emulated"  # AVX-512 without its bf16 extension: correct, and slower than float32
    eigen = "eigen"  # not through oneDNN: TensorFlow's own kernels convert to float32 and back
    aborts = "aborts"  # oneDNN capped below AVX-512: the process dies (SIGABRT, TensorFlow 2.21)
    unknown = "unknown"


@dataclass(frozen=True, slots=True)
class OneDnn:
    """oneDNN under TensorFlow on this CPU and in this environment.

    Attributes:
        enabled: whether TensorFlow will use it.
        reason: why.
        max_cpu_isa: the cap on instruction sets in the environment as it is written, None if none.
        bf16: how bfloat16 runs.
        bf16_reason: why.
        fp16_native: whether the CPU computes in float16 and no cap forbids it; None if unknown.
    """

    enabled: bool
    reason: str
    max_cpu_isa: str | None
    bf16: Bf16Support
    bf16_reason: str
    fp16_native: bool | None


def read_onednn(
    flags: frozenset[str],
    machine: str,
    environ: Mapping[str, str],
    *,
    system: str = "Linux",
) -> OneDnn:
    """Apply TensorFlow's and oneDNN's rules.

    Args:
        flags: of /proc/cpuinfo; empty when unknown.
        machine: as `platform.machine()`.
        environ: of the process that will import TensorFlow.
        system: as `platform.system()`.
    """
    enabled, reason = _enabled(flags, machine, system, environ.get("TF_ENABLE_ONEDNN_OPTS"))
    variable = next((name for name in _ISA_VARIABLES if environ.get(name)), None)
    written = environ[variable] if variable else None
    cap = _cap(written)
    bf16, bf16_reason = _bf16(flags, machine, enabled, f"{variable}={written}", cap)
    return OneDnn(enabled, reason, written, bf16, bf16_reason, _fp16(flags, enabled, cap))


def _enabled(flags: frozenset[str], machine: str, system: str, override: str | None) -> tuple[bool, str]:
    if override is not None and override.lower() in (*_TRUE, *_FALSE):
        return override.lower() in _TRUE, f"TF_ENABLE_ONEDNN_OPTS={override}"
    if not _is_x86(machine) or system != "Linux":
        return False, f"by default only on Linux x86, here {system} {machine}"
    found = [flag for flag in _DEFAULT_ON_FLAGS if flag in flags]
    found += sorted(flag for flag in flags if flag.startswith("amx"))
    if found:
        return True, f"by default, as the CPU has {found[0]}"
    return False, "by default, as the CPU has no VNNI, bf16 or AMX instructions"


def _cap(written: str | None) -> int:
    """Position in `_ISA_ORDER`; oneDNN takes any case, and ignores what it does not know."""
    name = (written or "").upper()
    name = _ISA_ALIASES.get(name, name)
    return _ISA_ORDER.index(name) if name in _ISA_ORDER else len(_ISA_ORDER)


def _bf16(flags: frozenset[str], machine: str, enabled: bool, setting: str, cap: int) -> tuple[Bf16Support, str]:
    if not flags or not _is_x86(machine):
        return Bf16Support.unknown, "the CPU's flags are not known"
    if not enabled:
        return Bf16Support.eigen, "oneDNN is off, and TensorFlow's own kernels convert to float32"
    if "avx512f" not in flags and "amx_bf16" not in flags:
        return Bf16Support.eigen, "the CPU has no AVX-512, and oneDNN has no bfloat16 without it"
    if cap < _ISA_ORDER.index("AVX512_CORE"):
        return Bf16Support.aborts, f"{setting} makes a bfloat16 matmul abort the process"
    if "avx512_bf16" not in flags and "amx_bf16" not in flags:
        return Bf16Support.emulated, "AVX-512 without avx512_bf16 emulates it"
    if cap < _ISA_ORDER.index("AVX512_CORE_BF16"):
        return Bf16Support.emulated, f"{setting} takes the bf16 instructions away"
    if "amx_bf16" in flags and cap >= _ISA_ORDER.index("AVX512_CORE_AMX"):
        return Bf16Support.native, "native in AMX tiles (amx_bf16)"
    return Bf16Support.native, "native (avx512_bf16)"


def _fp16(flags: frozenset[str], enabled: bool, cap: int) -> bool | None:
    if not flags:
        return None
    vector = "avx512_fp16" in flags and cap >= _ISA_ORDER.index("AVX512_CORE_FP16")
    tiles = "amx_fp16" in flags and cap >= _ISA_ORDER.index("AVX512_CORE_AMX_FP16")
    return enabled and (vector or tiles)


def _is_x86(machine: str) -> bool:
    return machine.lower() in ("x86_64", "amd64", "i386", "i686")
