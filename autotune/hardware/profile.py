"""A hardware description as a value: what a target or a device can do, as far as it is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autotune.config.hardware import DeviceKind, HardwareConfig
from autotune.errors import ConfigError

__all__ = ["Profile", "parse_compute_capability"]

_BYTES = {"float32": 4, "tf32": 4, "float16": 2, "bfloat16": 2, "float8": 1}

# NVIDIA, Matrix Multiplication Background User's Guide, table 1 (cuBLAS 11 and later): tensor
# cores are most efficient at multiples of 16 bytes, and of 128 bytes on GA100. GH100 and GB100
# are taken as its successors of the same class; 8.6, 8.9 and 12.0 are not.
_GPU_BYTES = 16
_DATA_CENTRE_BYTES = 128
_DATA_CENTRE = frozenset({(8, 0), (9, 0), (10, 0)})

# Google, Cloud TPU performance guide: the batch is tiled by 8, features by the matrix unit.
_TPU_BATCH = 8
_TPU_FEATURES = 128

# A row of an AMX tile is 64 bytes and a tile has 16 rows (Intel, Architecture Instruction Set
# Extensions Reference); AVX-512 registers are 64 bytes, AVX2's 32, SSE's and NEON's 16.
_AMX_ROWS = 16
_VECTOR_BYTES = {"avx512f": 64, "avx2": 32}
_SMALLEST_VECTOR_BYTES = 16


@dataclass(frozen=True, slots=True)
class Profile:
    """What one part can do. Unknown is None, or a dtype that is absent; never 0.

    The fields are those of `HardwareConfig`, in the types that code wants: tables as sorted pairs
    and sets, so that a profile is hashable and can be pickled.
    """

    name: str
    title: str
    kind: DeviceKind
    vendor: str | None = None
    arch: str | None = None
    device_names: tuple[str, ...] = ()
    compute_capability: tuple[int, int] | None = None
    memory_gb: float | None = None
    bandwidth_gb_s: float | None = None
    sm_count: int | None = None
    boost_mhz: float | None = None
    l2_mib: float | None = None
    tdp_w: float | None = None
    pcie_gen: int | None = None
    mig_slices: int | None = None
    peaks: tuple[tuple[str, float], ...] = ()
    tensor_cores: frozenset[str] = frozenset()
    cpu_flags: frozenset[str] = frozenset()
    flop_per_clock_per_core: tuple[tuple[str, float], ...] = ()
    matrix_unit: int | None = None
    source: str = ""
    verified: str = ""

    @classmethod
    def from_config(cls, config: HardwareConfig) -> Profile:
        """The profile that a checked `hw` configuration describes.

        Raises:
            ConfigError: if the name or the kind was left out.
        """
        for key in ("name", "title", "kind"):
            if getattr(config, key) in (None, "???"):
                raise ConfigError(f"hw.{key} must be given, but got none: add it to the profile")
        return cls(
            name=config.name,
            title=config.title,
            kind=config.kind,
            vendor=config.vendor,
            arch=config.arch,
            device_names=tuple(config.device_names),
            compute_capability=parse_compute_capability(config.compute_capability),
            memory_gb=config.memory_gb,
            bandwidth_gb_s=config.bandwidth_gb_s,
            sm_count=config.sm_count,
            boost_mhz=config.boost_mhz,
            l2_mib=config.l2_mib,
            tdp_w=config.tdp_w,
            pcie_gen=config.pcie_gen,
            mig_slices=config.mig_slices,
            peaks=_pairs(config.peak_tflops),
            tensor_cores=frozenset(config.tensor_cores),
            cpu_flags=frozenset(config.cpu_flags),
            flop_per_clock_per_core=_pairs(config.flop_per_clock_per_core),
            matrix_unit=config.matrix_unit,
            source=config.source,
            verified=config.verified,
        )

    def has_tensor_cores(self, dtype: str) -> bool:
        """Whether NVIDIA tensor cores that take `dtype` are known to be there."""
        return dtype in self.tensor_cores

    def peak_tflops(self, dtype: str) -> float | None:
        """Dense peak rate in TFLOP/s, None if unknown or none.

        For a CPU whose cores (`sm_count`) and clock are given: FLOP per clock and core times both.
        """
        if (peak := dict(self.peaks).get(dtype)) is not None:
            return peak
        per_clock = dict(self.flop_per_clock_per_core).get(dtype)
        if per_clock is None or self.sm_count is None or self.boost_mhz is None:
            return None
        return per_clock * self.sm_count * self.boost_mhz * 1e6 / 1e12

    def alignment(self, dtype: str) -> int:
        """Elements that a feature dimension should be a multiple of, 1 if nothing is known.

        A score, never a veto: other sizes work, less efficiently (cuBLAS 11 and later).
        """
        return self._alignment(dtype)[0]

    def alignment_reason(self, dtype: str) -> str:
        """Why `alignment(dtype)` is what it is, for a person."""
        return self._alignment(dtype)[1]

    def batch_alignment(self, dtype: str) -> int:
        """Examples that a batch should be a multiple of, 1 where it makes no difference."""
        if self.kind is DeviceKind.tpu:
            return _TPU_BATCH
        if self.kind is DeviceKind.gpu:
            return self.alignment(dtype)
        return _AMX_ROWS if self._in_amx_tiles(dtype) else 1

    def _alignment(self, dtype: str) -> tuple[int, str]:
        if dtype not in _BYTES:
            raise ValueError(f"alignment knows {', '.join(_BYTES)}, but got {dtype!r}")
        if self.kind is DeviceKind.tpu:
            unit = self.matrix_unit or _TPU_FEATURES
            return unit, f"the matrix unit is {unit} wide"
        if self.kind is DeviceKind.gpu:
            wide = self.compute_capability in _DATA_CENTRE
            size = _DATA_CENTRE_BYTES if wide else _GPU_BYTES
            part = "data-centre parts work" if wide else "the GPU works"
            return size // _BYTES[dtype], f"{part} best on multiples of {size} bytes"
        if self.kind is DeviceKind.cpu:
            return self._cpu_alignment(dtype)
        return 1, "the device is not known yet"

    def _cpu_alignment(self, dtype: str) -> tuple[int, str]:
        if self._in_amx_tiles(dtype):
            return 64 // _BYTES[dtype], "a row of an AMX tile is 64 bytes"
        for flag, size in _VECTOR_BYTES.items():
            if flag in self.cpu_flags or (flag == "avx512f" and "amx_tile" in self.cpu_flags):
                return size // _BYTES[dtype], f"{flag} vectors are {size} bytes"
        size = _SMALLEST_VECTOR_BYTES
        return size // _BYTES[dtype], f"vectors are at least {size} bytes"

    def _in_amx_tiles(self, dtype: str) -> bool:
        if self.kind is not DeviceKind.cpu:
            return False
        flag = {"bfloat16": "amx_bf16", "float16": "amx_fp16"}.get(dtype)
        return flag in self.cpu_flags


def parse_compute_capability(text: str | None) -> tuple[int, int] | None:
    """`"7.5"` as (7, 5). Compare whole pairs: never the major number alone."""
    if text is None:
        return None
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _pairs(table: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(table.items()))
