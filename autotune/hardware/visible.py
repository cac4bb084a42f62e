"""Which of NVML's GPUs a CUDA program started here would see, and in which order.

CUDA counts its own way: CUDA_VISIBLE_DEVICES selects and reorders (indices, UUIDs or MIG ids), and
CUDA_DEVICE_ORDER says what an index means. NVML ignores both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autotune.hardware.nvml import GpuReading, MigInstance

__all__ = ["VisibleGpus", "visible_gpus"]

_ORDER_NOTE = (
    "the GPUs here are unlike and CUDA numbers the fastest first, which NVML cannot tell: "
    "set CUDA_DEVICE_ORDER=PCI_BUS_ID, or select by UUID, to be sure which one is meant"
)


@dataclass(frozen=True, slots=True)
class VisibleGpus:
    """GPUs in CUDA's order, with what is uncertain about them in `notes`."""

    gpus: tuple[GpuReading, ...]
    notes: tuple[str, ...] = ()
    order_is_certain: bool = True


def visible_gpus(gpus: Sequence[GpuReading], environ: Mapping[str, str]) -> VisibleGpus:
    """Apply CUDA's rules to NVML's list.

    An entry that names no GPU ends the list (CUDA C Programming Guide, environment variables), an
    empty value or -1 hides all. A GPU with MIG on is replaced by its instances; without a
    selection CUDA shows one instance only.
    """
    selection = environ.get("CUDA_VISIBLE_DEVICES")
    reachable = _in_bus_order([gpu for gpu in gpus if _no_access(gpu) is None])
    if selection is None:
        chosen = _unselected(reachable)
    else:
        chosen = _selected([part.strip() for part in selection.split(",")], reachable)
    notes = [
        f"GPU {gpu.index} of NVML cannot be opened: {reason}" for gpu in gpus if (reason := _no_access(gpu)) is not None
    ]
    certain = _order_is_certain(reachable, selection, environ)
    if not certain:
        notes.append(_ORDER_NOTE)
    return VisibleGpus(chosen, tuple(notes), certain)


def _no_access(gpu: GpuReading) -> str | None:
    return dict(gpu.unread).get("handle")


def _in_bus_order(gpus: Sequence[GpuReading]) -> list[GpuReading]:
    """NVML's index already follows the bus, though the manual only promises it by address."""
    keyed = [(_bus_key(gpu.pci_bus_id), gpu) for gpu in gpus]
    known = [(key, gpu.index, gpu) for key, gpu in keyed if key is not None]
    if len(known) < len(gpus):
        return list(gpus)
    return [gpu for _, _, gpu in sorted(known, key=lambda item: item[:2])]


def _unselected(gpus: Sequence[GpuReading]) -> tuple[GpuReading, ...]:
    whole = tuple(gpu for gpu in gpus if not gpu.mig_enabled)
    parts = [_instance(gpu, part) for gpu in gpus for part in gpu.mig_instances]
    return whole or tuple(parts[:1])


def _selected(entries: Sequence[str], gpus: Sequence[GpuReading]) -> tuple[GpuReading, ...]:
    chosen: list[GpuReading] = []
    for entry in entries:
        gpu = _one(entry, gpus)
        if gpu is None or gpu in chosen:
            break
        chosen.append(gpu)
    return tuple(chosen)


def _one(entry: str, gpus: Sequence[GpuReading]) -> GpuReading | None:
    if entry.isdecimal():
        if int(entry) >= len(gpus):
            return None
        gpu = gpus[int(entry)]
        if not gpu.mig_enabled:
            return gpu
        return _instance(gpu, gpu.mig_instances[0]) if gpu.mig_instances else None
    if entry.startswith("MIG-"):
        parts = [(gpu, part) for gpu in gpus for part in gpu.mig_instances]
        found = [_instance(gpu, part) for gpu, part in parts if _starts(part.uuid, entry)]
    else:
        found = [gpu for gpu in gpus if _starts(gpu.uuid, entry)]
    return found[0] if len(found) == 1 else None  # a prefix must be unambiguous


def _starts(uuid: str | None, prefix: str) -> bool:
    return uuid is not None and bool(prefix) and uuid.startswith(prefix)


def _instance(gpu: GpuReading, part: MigInstance) -> GpuReading:
    return replace(
        gpu,
        uuid=part.uuid,
        name=part.name or (f"{gpu.name} MIG" if gpu.name else None),
        memory_total_mb=part.memory_total_mb,
        memory_used_mb=part.memory_used_mb,
        mig_instances=(),
    )


def _order_is_certain(gpus: Sequence[GpuReading], selection: str | None, environ: Mapping[str, str]) -> bool:
    by_index = selection is None or any(part.strip().isdecimal() for part in selection.split(","))
    alike = len({gpu.name for gpu in gpus}) <= 1
    return alike or not by_index or environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"


def _bus_key(pci_bus_id: str | None) -> tuple[int, ...] | None:
    """`00000000:3B:00.0` as comparable numbers, None for what is no address."""
    try:
        domain, bus, rest = (pci_bus_id or "").split(":")
        device, _, function = rest.partition(".")
        return tuple(int(part, 16) for part in (domain, bus, device, function or "0"))
    except ValueError:
        return None
