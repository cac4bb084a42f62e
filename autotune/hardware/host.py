"""The machine around the accelerator: CPU, memory, container limits, software versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autotune.hardware.cgroup import read_limits
from autotune.hardware.onednn import OneDnn, read_onednn

__all__ = ["Host", "read_host"]

_KB_PER_MB = 1024
# What TensorFlow and the libraries under it read for their thread counts.
_THREAD_VARIABLES = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Host:
    """What this machine gives to a process started now. None is unknown; `_mb` is 2**20 bytes.

    Attributes:
        machine: as `platform.machine()`, such as x86_64.
        cpu_flags: of /proc/cpuinfo on x86; empty elsewhere.
        affinity_cores: logical cores that this process may run on.
        cpu_quota_cores: CPU time per time that the container allows, None if unlimited.
        load_average_1m: runnable processes over the last minute, others' included.
        thread_variables: thread counts set in the environment, (variable, value) as written.
    """

    system: str
    os_release: str
    python_version: str
    machine: str
    cpu_model: str | None
    cpu_vendor: str | None
    cpu_family: int | None
    cpu_model_number: int | None
    cpu_flags: frozenset[str]
    logical_cores: int | None
    physical_cores: int | None
    affinity_cores: int | None
    cpu_quota_cores: float | None
    memory_total_mb: float | None
    memory_available_mb: float | None
    memory_limit_mb: float | None
    load_average_1m: float | None
    thread_variables: tuple[tuple[str, str], ...]
    onednn: OneDnn

    @property
    def usable_cores(self) -> float | None:
        """Cores' worth of CPU time: the least of cores, affinity and quota."""
        known = (self.logical_cores, self.affinity_cores, self.cpu_quota_cores)
        return min((cores for cores in known if cores is not None), default=None)

    @property
    def usable_memory_mb(self) -> float | None:
        """The machine's memory or the container's limit, whichever is less."""
        known = (self.memory_total_mb, self.memory_limit_mb)
        return min((size for size in known if size is not None), default=None)


def read_host(environ: Mapping[str, str] = os.environ, root: Path = Path("/")) -> Host:
    """Read the machine once. Never raises for what a system does not tell.

    Args:
        environ: of the process that will import TensorFlow.
        root: where `proc` and `sys` are found, another folder in tests.
    """
    machine, system = platform.machine(), platform.system()
    processors = _processors(root)
    first = processors[0] if processors else {}
    flags = frozenset(first.get("flags", "").split())  # x86 only: others say "Features"
    memory = _memory_mb(root)
    limits = read_limits(root)
    return Host(
        system=system,
        os_release=platform.release(),
        python_version=platform.python_version(),
        machine=machine,
        cpu_model=first.get("model name") or platform.processor() or None,
        cpu_vendor=first.get("vendor_id"),
        cpu_family=_number(first.get("cpu family")),
        cpu_model_number=_number(first.get("model")),
        cpu_flags=flags,
        logical_cores=len(processors) or os.cpu_count(),
        physical_cores=_physical_cores(processors),
        affinity_cores=_affinity_cores(),
        cpu_quota_cores=limits.cpu_quota_cores,
        memory_total_mb=memory.get("MemTotal"),
        memory_available_mb=memory.get("MemAvailable"),
        memory_limit_mb=limits.memory_limit_mb,
        load_average_1m=_load_average(),
        thread_variables=tuple((v, environ[v]) for v in _THREAD_VARIABLES if v in environ),
        onednn=read_onednn(flags, machine, environ, system=system),
    )


def _processors(root: Path) -> list[dict[str, str]]:
    """One table a logical processor, from /proc/cpuinfo."""
    tables = []
    for block in _read(root / "proc/cpuinfo").split("\n\n"):
        pairs = (line.partition(":") for line in block.splitlines() if ":" in line)
        table = {key.strip(): value.strip() for key, _, value in pairs}
        if "processor" in table:  # ARM appends a block about the board
            tables.append(table)
    return tables


def _physical_cores(processors: list[dict[str, str]]) -> int | None:
    cores = {(p["physical id"], p["core id"]) for p in processors if {"physical id", "core id"} <= p.keys()}
    return len(cores) or None


def _affinity_cores() -> int | None:
    if not hasattr(os, "sched_getaffinity"):  # macOS, Windows
        return None
    return len(os.sched_getaffinity(0))


def _memory_mb(root: Path) -> dict[str, float]:
    sizes = {}
    for line in _read(root / "proc/meminfo").splitlines():
        key, _, rest = line.partition(":")
        amount = rest.split()
        if len(amount) == 2 and amount[0].isdecimal() and amount[1] == "kB":
            sizes[key] = int(amount[0]) / _KB_PER_MB
    return sizes


def _load_average() -> float | None:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
