"""What is really here, as far as the driver and the operating system tell; no framework is asked.

Whether TensorFlow can use it is the worker's to say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from autotune.config.hardware import DeviceKind
from autotune.hardware.catalogue import bundled, bundled_profiles
from autotune.hardware.host import Host, read_host
from autotune.hardware.match import match_cpu, match_gpu
from autotune.hardware.nvml import GpuReading, NvmlReport, NvmlStatus, read_nvml
from autotune.hardware.policies import PolicyChoice, policy_choices
from autotune.hardware.profile import Profile
from autotune.hardware.visible import visible_gpus

__all__ = ["Device", "detect", "numbered_by_framework", "seen_by_framework"]

_MIB_PER_GIB = 1024

# TensorFlow 2.21's wheel holds machine code for 6.0, 7.0, 8.0, 8.9 and 9.0, which also serves later
# minor numbers of the same major one; anything else is compiled from PTX at first use.
_WHEEL_MAJORS = range(6, 10)

_BUSY_LOAD_PER_CORE = 0.5


@dataclass(frozen=True, slots=True)
class Device:
    """The part that trials run on, and the machine around it.

    Attributes:
        kind: gpu or cpu.
        name: as the driver or the CPU reports it.
        profile: what it can do: a bundled profile if it is exactly that part, else a bare one
            with the facts found here and unknown peaks.
        fingerprint: the identity that evidence is tied to; plain JSON values that do not change
            between two runs on the same machine.
        host: CPU, memory, container limits.
        nvml: whether the driver could be asked, and why not.
        gpus: the GPUs that a CUDA program would see, in its order; the first is the device.
        notes: what a person should know, such as a GPU that somebody else uses.
        order_is_certain: whether CUDA numbers the GPUs as they stand here; else the framework has to tell which is
            the first (`numbered_by_framework`).
    """

    kind: DeviceKind
    name: str
    profile: Profile
    fingerprint: dict[str, Any]
    host: Host
    nvml: NvmlStatus
    gpus: tuple[GpuReading, ...] = ()
    notes: tuple[str, ...] = ()
    order_is_certain: bool = True

    @property
    def memory_total_mb(self) -> float | None:
        """Memory that training can use: the GPU's (a MIG instance's own), or the host's."""
        if self.kind is DeviceKind.gpu:
            return self.gpus[0].memory_total_mb if self.gpus else None
        return self.host.usable_memory_mb

    def policy_choices(self) -> tuple[PolicyChoice, ...]:
        """What is worth trying here, with this environment's oneDNN settings."""
        return policy_choices(self.profile, self.host.onednn)

    def to_json(self) -> dict[str, Any]:
        """Everything that was read, volatile figures too, as plain JSON values for the record."""
        host = asdict(self.host)
        host["cpu_flags"] = sorted(self.host.cpu_flags)
        host["onednn"]["bf16"] = self.host.onednn.bf16.value
        return {
            "kind": self.kind.value,
            "name": self.name,
            "profile": self.profile.name,
            "fingerprint": self.fingerprint,
            "host": _plain(host),
            "nvml": asdict(self.nvml),
            "gpus": [_plain(asdict(gpu)) for gpu in self.gpus],
            "notes": list(self.notes),
        }


def detect(
    environ: Mapping[str, str] = os.environ,
    *,
    read_gpus: Callable[[], NvmlReport] = read_nvml,
    read_machine: Callable[[Mapping[str, str]], Host] = read_host,
) -> Device:
    """Find the device that a worker started with this environment would use.

    The first GPU that CUDA would show, else the CPU. Works without a driver and never raises for
    what a machine does not tell.
    """
    host = read_machine(environ)
    report = read_gpus()
    visible = visible_gpus(report.gpus, environ)
    notes = [*visible.notes]
    if not visible.gpus and report.gpus:
        notes.append("a GPU is here, but CUDA would show none (see CUDA_VISIBLE_DEVICES)")
    name, profile = host.cpu_model or "unknown CPU", _cpu_profile(host)
    fingerprint = {"kind": "cpu", "name": name} | _host_fingerprint(host)
    notes += _host_notes(host)
    cpu = Device(profile.kind, name, profile, fingerprint, host, report.status, (), tuple(notes))
    return _with_gpus(cpu, visible.gpus, visible.order_is_certain) if visible.gpus else cpu


def _with_gpus(device: Device, gpus: tuple[GpuReading, ...], order_is_certain: bool) -> Device:
    """The first of these GPUs, in this machine."""
    gpu, profile = gpus[0], _gpu_profile(gpus[0])
    return replace(
        device,
        kind=profile.kind,
        name=gpu.name or "unknown NVIDIA GPU",
        profile=profile,
        fingerprint=_gpu_fingerprint(gpu, device.nvml) | _host_fingerprint(device.host),
        gpus=gpus,
        notes=(*device.notes, *_gpu_notes(gpu)),
        order_is_certain=order_is_certain,
    )


def numbered_by_framework(device: Device, name: str | None) -> Device:
    """The device where CUDA may number another of unlike GPUs first than NVML's order lets expect.

    Args:
        device: what was detected.
        name: the framework's first GPU's, as it reports it; None if it does not.

    Returns:
        A device whose order is taken for certain: nobody else can be asked.
    """
    if device.order_is_certain:
        return device
    alike = tuple(gpu for gpu in device.gpus if gpu.name == name)
    others = tuple(gpu for gpu in device.gpus if gpu.name != name)
    of_first = _gpu_notes(device.gpus[0])
    notes = tuple(note for note in device.notes if note not in of_first)
    return _with_gpus(replace(device, notes=notes), (*alike, *others), order_is_certain=True)


def seen_by_framework(device: Device, name: str | None, compute_capability: tuple[int, int] | None) -> Device:
    """The device where the framework uses a GPU that NVML did not show (no driver library, another vendor).

    Args:
        device: what was detected, a CPU.
        name: the GPU's, as the framework reports it.
        compute_capability: the GPU's, if it has one.
    """
    title = name or "unknown GPU"
    known = match_gpu(name, None, compute_capability, bundled_profiles())
    bare = Profile(
        name="unknown_gpu",
        title=title,
        kind=DeviceKind.gpu,
        compute_capability=compute_capability,
        source="read from the framework; peak rates, memory and bandwidth are unknown",
        verified="read from the device",
    )
    note = f"{title} is known from the framework alone ({device.nvml.reason}): its load, power and memory are unknown"
    return replace(
        device,
        kind=DeviceKind.gpu,
        name=title,
        profile=known or bare,
        fingerprint=device.fingerprint | {"kind": "gpu", "name": title},
        notes=(*device.notes, note),
    )


def _gpu_profile(gpu: GpuReading) -> Profile:
    memory_gib = gpu.memory_total_gib
    if not gpu.mig_enabled:
        known = match_gpu(gpu.name, memory_gib, gpu.compute_capability, bundled_profiles())
        if known is not None:
            return known
    return Profile(
        name="unknown_gpu",
        title=gpu.name or "unknown NVIDIA GPU",
        kind=DeviceKind.gpu,
        vendor="nvidia",
        compute_capability=gpu.compute_capability,
        memory_gb=memory_gib,
        source="read from NVML; peak rates, SMs and bandwidth are unknown",
        verified="read from the device",
    )


def _cpu_profile(host: Host) -> Profile:
    name = match_cpu(host.cpu_flags, host.cpu_vendor, host.cpu_family, host.cpu_model_number)
    known = bundled(name) if name else Profile("unknown_cpu", "unknown CPU class", DeviceKind.cpu)
    return replace(
        known,
        cpu_flags=host.cpu_flags,
        sm_count=host.physical_cores,
        memory_gb=_gib(host.usable_memory_mb),
    )


def _gpu_fingerprint(gpu: GpuReading, status: NvmlStatus) -> dict[str, Any]:
    capability = gpu.compute_capability
    return {
        "kind": "gpu",
        "name": gpu.name,
        "uuid": gpu.uuid,
        "compute_capability": None if capability is None else ".".join(map(str, capability)),
        "memory_total_mb": gpu.memory_total_mb,
        "mig_enabled": gpu.mig_enabled,
        "driver_version": status.driver_version,
    }


def _host_fingerprint(host: Host) -> dict[str, Any]:
    memory_gib = _gib(host.usable_memory_mb)  # whole GiB: a kernel update moves the megabytes
    return {
        "cpu_model": host.cpu_model,
        "cpu_class": match_cpu(host.cpu_flags, host.cpu_vendor, host.cpu_family, host.cpu_model_number),
        "usable_cores": host.usable_cores,
        "usable_memory_gib": None if memory_gib is None else round(memory_gib),
        "onednn_enabled": host.onednn.enabled,
        "onednn_max_cpu_isa": host.onednn.max_cpu_isa,
        "system": host.system,
        "machine": host.machine,
    }


def _gpu_notes(gpu: GpuReading) -> list[str]:
    notes = []
    others = [process for process in gpu.processes or () if process.kind == "compute"]
    if others:
        shown = ", ".join(f"{p.name or 'a process'} (pid {p.pid})" for p in others)
        notes.append(f"the GPU is in use by somebody else: {shown}; timings will suffer")
    capability = gpu.compute_capability
    if capability is not None and capability[0] not in _WHEEL_MAJORS:
        notes.append(
            "TensorFlow's wheel has no machine code for compute capability "
            f"{'.'.join(map(str, capability))}: it compiles at first use, and is reported to fail"
        )
    if capability is not None and capability < (7, 5):
        notes.append("Pascal and Volta may need nvidia-cudnn-cu12 below 9.11")
    return notes


def _host_notes(host: Host) -> list[str]:
    notes = []
    if host.cpu_quota_cores is not None and host.cpu_quota_cores < (host.logical_cores or 0):
        notes.append(f"the container may use {host.cpu_quota_cores:g} of {host.logical_cores} CPU cores")
    load, cores = host.load_average_1m, host.usable_cores
    if load is not None and cores is not None and load > _BUSY_LOAD_PER_CORE * cores:
        notes.append(
            f"load {load:.1f} on {cores:g} cores over the last minute: "
            "if that is somebody else's work, timings will suffer"
        )
    return notes


def _gib(size_mb: float | None) -> float | None:
    return None if size_mb is None else size_mb / _MIB_PER_GIB


def _plain(value: Any) -> Any:
    """Tuples as lists, as JSON would give them back."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
