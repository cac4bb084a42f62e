"""NVIDIA GPUs as their driver reports them, through the `pynvml` module of nvidia-ml-py.

Support differs by card, driver, container and MIG mode, so each field is read on its own: what a
call refuses to tell is None, with its reason in `GpuReading.unread`, and nothing is ever raised.
`_mb` is 2**20 bytes, as nvidia-smi prints.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from autotune.hardware.nvml_ask import Ask, brief, clock_reasons, refusals, text

__all__ = ["GpuProcess", "GpuReading", "MigInstance", "NvmlReport", "NvmlStatus", "read_nvml"]

_MB = 2**20


@dataclass(frozen=True, slots=True)
class NvmlStatus:
    """Whether NVML could be asked, and through which module.

    `module_path` and `module_version` tell an old distribution named `pynvml` that shadows
    nvidia-ml-py. `reason` says why NVML is not available, and is empty when it is.
    """

    available: bool
    reason: str = ""
    driver_version: str | None = None
    module_path: str | None = None
    module_version: str | None = None


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process of somebody that holds the GPU; `kind` is compute or graphics."""

    pid: int
    kind: str
    name: str | None = None
    used_mb: float | None = None


@dataclass(frozen=True, slots=True)
class MigInstance:
    """One MIG instance: a slice of a GPU with memory of its own."""

    uuid: str | None
    name: str | None
    memory_total_mb: float | None
    memory_used_mb: float | None


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU at one moment. None is unknown; `unread` holds (field, reason) of each unknown.

    With MIG on, no process can use the whole card: memory is None here and given per instance.
    `throttle_reasons` is empty when the clock is free, None when that is not known.
    """

    index: int
    uuid: str | None = None
    pci_bus_id: str | None = None
    name: str | None = None
    compute_capability: tuple[int, int] | None = None
    memory_total_mb: float | None = None
    memory_used_mb: float | None = None
    power_w: float | None = None
    energy_mj: int | None = None
    sm_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    throttle_reasons: tuple[str, ...] | None = None
    temperature_c: int | None = None
    mig_enabled: bool | None = None
    mig_instances: tuple[MigInstance, ...] = ()
    processes: tuple[GpuProcess, ...] | None = None
    unread: tuple[tuple[str, str], ...] = ()

    @property
    def memory_total_gib(self) -> float | None:
        """Memory as vendors count it; NVML's megabytes are of 2**20 bytes."""
        return None if self.memory_total_mb is None else self.memory_total_mb / 1024


@dataclass(frozen=True, slots=True)
class NvmlReport:
    """All GPUs in NVML's own order, which is that of the PCI bus, not necessarily CUDA's."""

    status: NvmlStatus
    gpus: tuple[GpuReading, ...] = ()


def read_nvml(module: ModuleType | None = None) -> NvmlReport:
    """Ask NVML once about everything. Never raises.

    Args:
        module: an imported NVML binding; `pynvml` is imported when None.
    """
    if module is None:
        try:
            module = importlib.import_module("pynvml")
        except ImportError as error:
            return NvmlReport(NvmlStatus(False, f"pynvml cannot be imported: {brief(error)}"))
    path, version = _origin(module)
    try:
        with _session(module):
            ask = Ask(module)
            driver = ask("driver", "nvmlSystemGetDriverVersion")
            status = NvmlStatus(True, "", driver, path, version)
            return NvmlReport(status, _read_gpus(module))
    except refusals(module) as error:
        return NvmlReport(NvmlStatus(False, brief(error), None, path, version))


@contextmanager
def _session(module: Any) -> Iterator[None]:
    """NVML between init and shutdown; shutdown only follows an init that succeeded."""
    module.nvmlInit()
    try:
        yield
    finally:
        Ask(module)("shutdown", "nvmlShutdown")


def _read_gpus(module: Any) -> tuple[GpuReading, ...]:
    ask = Ask(module)
    count = ask("count", "nvmlDeviceGetCount") or 0
    readings = []
    for index in range(count):
        handle = ask("handle", "nvmlDeviceGetHandleByIndex", index)
        if handle is None:  # a lost card, or one that this container may not open
            readings.append(GpuReading(index, unread=(("handle", ask.refused["handle"]),)))
        else:
            readings.append(_read_gpu(Ask(module), index, handle))
    return tuple(readings)


def _read_gpu(ask: Ask, index: int, handle: Any) -> GpuReading:
    module = ask.module
    mode = ask("mig_enabled", "nvmlDeviceGetMigMode", handle)
    mig_enabled = None if mode is None else mode[0] == 1
    total_mb, used_mb = (None, None) if mig_enabled else _memory_mb(ask, handle)
    power_mw = ask("power_w", "nvmlDeviceGetPowerUsage", handle)
    capability = ask("compute_capability", "nvmlDeviceGetCudaComputeCapability", handle)
    pci = ask("pci_bus_id", "nvmlDeviceGetPciInfo", handle)
    sm = getattr(module, "NVML_CLOCK_SM", 1)
    return GpuReading(
        index=index,
        uuid=ask("uuid", "nvmlDeviceGetUUID", handle),
        pci_bus_id=text(getattr(pci, "busId", None)),
        name=ask("name", "nvmlDeviceGetName", handle),
        compute_capability=None if capability is None else (capability[0], capability[1]),
        memory_total_mb=total_mb,
        memory_used_mb=used_mb,
        power_w=None if power_mw is None else power_mw / 1000,
        energy_mj=ask("energy_mj", "nvmlDeviceGetTotalEnergyConsumption", handle),
        sm_clock_mhz=ask("sm_clock_mhz", "nvmlDeviceGetClockInfo", handle, sm),
        max_sm_clock_mhz=ask("max_sm_clock_mhz", "nvmlDeviceGetMaxClockInfo", handle, sm),
        throttle_reasons=clock_reasons(ask, handle),
        temperature_c=ask("temperature_c", "nvmlDeviceGetTemperature", handle, 0),
        mig_enabled=mig_enabled,
        mig_instances=_mig_instances(ask, handle) if mig_enabled else (),
        processes=_processes(ask, handle),
        unread=tuple(ask.refused.items()),
    )


def _memory_mb(ask: Ask, handle: Any) -> tuple[float | None, float | None]:
    """Total and used. Version 2 keeps the driver's own reserve out of `used`; old ones lack it."""
    found = None
    version = getattr(ask.module, "nvmlMemory_v2", None)
    if version is not None:
        found = ask("memory", "nvmlDeviceGetMemoryInfo", handle, version=version)
    if found is None:
        found = ask("memory", "nvmlDeviceGetMemoryInfo", handle)
    return (None, None) if found is None else (found.total / _MB, found.used / _MB)


def _mig_instances(ask: Ask, handle: Any) -> tuple[MigInstance, ...]:
    count = ask("mig_instances", "nvmlDeviceGetMaxMigDeviceCount", handle) or 0
    instances = []
    for index in range(count):
        probe = Ask(ask.module)  # an empty slot is refused with NotFound, and that is no fault
        part = probe("handle", "nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
        if part is None:
            continue
        total_mb, used_mb = _memory_mb(probe, part)
        uuid = probe("uuid", "nvmlDeviceGetUUID", part)
        instances.append(MigInstance(uuid, probe("name", "nvmlDeviceGetName", part), total_mb, used_mb))
    return tuple(instances)


def _processes(ask: Ask, handle: Any) -> tuple[GpuProcess, ...] | None:
    """Everybody on the GPU. This program's parent never opens one, so all of them are others."""
    found: dict[int, GpuProcess] = {}
    known = False
    for kind in ("Graphics", "Compute"):  # a process of both kinds counts as compute
        listed = ask(f"processes_{kind.lower()}", f"nvmlDeviceGet{kind}RunningProcesses", handle)
        known = known or listed is not None
        for item in listed or ():
            name = Ask(ask.module)("name", "nvmlSystemGetProcessName", item.pid)
            used = item.usedGpuMemory
            used_mb = None if used is None else used / _MB
            found[item.pid] = GpuProcess(item.pid, kind.lower(), name, used_mb)
    return tuple(found[pid] for pid in sorted(found)) if known else None


def _origin(module: ModuleType) -> tuple[str | None, str | None]:
    """File and version of the binding.

    The deprecated distribution `pynvml` ships a package of that name, nvidia-ml-py a single
    module; where both are installed Python takes the package.
    """
    from importlib import metadata

    path = getattr(module, "__file__", None)
    distribution = "pynvml" if hasattr(module, "__path__") else "nvidia-ml-py"
    try:
        return path, f"{distribution} {metadata.version(distribution)}"
    except metadata.PackageNotFoundError:
        return path, None
