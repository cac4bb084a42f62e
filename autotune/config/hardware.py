"""Schema of the `hw` group: what a hardware profile may say, checked once at the edge.

`conf/hw/*.yaml` and a person's own profile are merged into `HardwareConfig`; `OmegaConf.to_object`
then runs `__post_init__`. A figure that nobody knows is null (or a missing key), never 0.
"""

import re
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Dict, List, Optional

from autotune.config.checks import MISSING, positive, require

__all__ = ["DTYPES", "DeviceKind", "HardwareConfig", "OnMismatch"]

DTYPES = ("float32", "tf32", "float16", "bfloat16", "float8")
"""Keys of every per-dtype table. `tf32` is the float32 matmul mode of tensor cores."""

# NVIDIA's GPUs of this compute capability and above all have tensor cores, and for these dtypes.
_ALL_WITH_TENSOR_CORES = 8.0
_THEIR_DTYPES = "float16, bfloat16, tf32"

_UNKNOWN = "write the vendor's figure, or null (no key) where it is unknown"
_COMPUTE_CAPABILITY = re.compile(r"\d{1,2}\.\d")
_POSITIVE = (
    "memory_gb",
    "bandwidth_gb_s",
    "sm_count",
    "boost_mhz",
    "l2_mib",
    "tdp_w",
    "pcie_gen",
    "mig_slices",
    "matrix_unit",
)


# OmegaConf reads an Enum by its member's name, so names are spelled as people type them.
class DeviceKind(Enum):
    """What computes. `auto` is the request to use whatever is found here."""

    gpu = "gpu"
    cpu = "cpu"
    tpu = "tpu"
    auto = "auto"


class OnMismatch(Enum):
    """What to do when the device here is not the target: measure here anyway, or refuse."""

    run = "run"
    error = "error"


@dataclass
class HardwareConfig:
    """One hardware profile, as written in YAML.

    Attributes:
        name: the profile's own name, that of its file.
        title: for people, with the vendor's spelling.
        kind: gpu, cpu, tpu or auto.
        vendor: maker, in lower case.
        arch: architecture and chip.
        device_names: names under which the driver reports this very part. Matching is exact
            (case, spaces and hyphens aside), so that a 2080 Ti, a SUPER or a laptop part is never
            taken for a 2080.
        compute_capability: NVIDIA's, as text: "7.5".
        memory_gb: device memory as the vendor names it.
        bandwidth_gb_s: of that memory, 1e9 bytes per second.
        sm_count: streaming multiprocessors; for a CPU, physical cores.
        boost_mhz: the clock that the peak rates assume.
        l2_mib: second-level cache.
        tdp_w: power limit.
        pcie_gen: PCI Express generation.
        mig_slices: the most instances MIG can cut it into; null where there is no MIG.
        peak_tflops: dense peak by dtype. `float16` is tensor cores with float32 accumulation.
            A missing key means unknown or none.
        tensor_cores: dtypes that NVIDIA tensor cores take here.
        cpu_flags: /proc/cpuinfo flags that a CPU of this class has.
        flop_per_clock_per_core: of a CPU, by dtype.
        matrix_unit: width of a TPU's matrix unit (MXU).
        source: where the figures come from.
        verified: which figures are not verified, if any.
        on_mismatch: run here anyway (the default) or refuse.

    Raises:
        ConfigError: on a figure that no hardware can have, or an unknown dtype.
    """

    name: str = MISSING
    title: str = MISSING
    kind: DeviceKind = MISSING  # type: ignore[assignment]  # OmegaConf's word for "must be given"
    vendor: Optional[str] = None
    arch: Optional[str] = None
    device_names: List[str] = field(default_factory=list)
    compute_capability: Optional[str] = None
    memory_gb: Optional[float] = None
    bandwidth_gb_s: Optional[float] = None
    sm_count: Optional[int] = None
    boost_mhz: Optional[float] = None
    l2_mib: Optional[float] = None
    tdp_w: Optional[float] = None
    pcie_gen: Optional[int] = None
    mig_slices: Optional[int] = None
    peak_tflops: Dict[str, float] = field(default_factory=dict)
    tensor_cores: List[str] = field(default_factory=list)
    cpu_flags: List[str] = field(default_factory=list)
    flop_per_clock_per_core: Dict[str, float] = field(default_factory=dict)
    matrix_unit: Optional[int] = None
    source: str = ""
    verified: str = ""
    on_mismatch: OnMismatch = OnMismatch.run

    def __post_init__(self) -> None:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        given = {key: value for key, value in given.items() if value not in (None, MISSING)}
        for key in _POSITIVE:
            if key in given:
                positive(f"hw.{key}", given[key], _UNKNOWN)
        for key in ("peak_tflops", "flop_per_clock_per_core"):
            for dtype, rate in given.get(key, {}).items():
                _check_dtype(f"hw.{key}", dtype)
                positive(f"hw.{key}.{dtype}", rate, _UNKNOWN)
        for dtype in given.get("tensor_cores", ()):
            _check_dtype("hw.tensor_cores", dtype)
        _check_compute_capability(given.get("compute_capability"), given.get("kind"))
        if given.get("compute_capability"):
            _check_tensor_cores(given["compute_capability"], given.get("tensor_cores", []))


def _check_dtype(key: str, dtype: str) -> None:
    require(dtype in DTYPES, f"{key} knows the dtypes {', '.join(DTYPES)}", dtype)


def _check_compute_capability(value: Optional[str], kind: Any) -> None:
    if value is None:
        return
    key = "hw.compute_capability"
    remedy = "write major.minor in quotes, or null where there is none"
    require(bool(_COMPUTE_CAPABILITY.fullmatch(value)), f"{key} must be like '7.5'", value, remedy)
    remedy = "remove it, or set hw.kind=gpu"
    require(kind not in (DeviceKind.cpu, DeviceKind.tpu), f"{key} is a GPU's", value, remedy)


def _check_tensor_cores(capability: str, dtypes: List[str]) -> None:
    """A profile that leaves them out would be predicted, and its policies chosen, as if there were none."""
    known = float(capability) < _ALL_WITH_TENSOR_CORES or bool(dtypes)
    remedy = f"write hw.tensor_cores=[{_THEIR_DTYPES}], and float8 from 8.9"
    rule = f"hw.tensor_cores must say which dtypes the tensor cores of compute capability {capability} take"
    require(known, rule, dtypes, remedy)
