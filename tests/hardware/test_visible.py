from __future__ import annotations

import pytest

from autotune.hardware.nvml import GpuReading, MigInstance
from autotune.hardware.visible import visible_gpus

OLD = GpuReading(0, "GPU-aaaa", "00000000:86:00.0", "NVIDIA GeForce RTX 2060")
NEW = GpuReading(1, "GPU-aabb", "00000000:3B:00.0", "NVIDIA GeForce RTX 4090")
TWIN = GpuReading(2, "GPU-cccc", "00000001:01:00.0", "NVIDIA GeForce RTX 4090")
SLICED = GpuReading(
    0,
    "GPU-dddd",
    "00000000:01:00.0",
    "NVIDIA H200",
    mig_enabled=True,
    mig_instances=(MigInstance("MIG-1", None, 16384, 10), MigInstance("MIG-2", "x", 32768, 20)),
)


def shown(*gpus: GpuReading, **environ: str) -> list[str | None]:
    return [gpu.uuid for gpu in visible_gpus(gpus, environ).gpus]


def test_without_a_selection_all_gpus_come_in_bus_order() -> None:
    assert shown(OLD, NEW) == ["GPU-aabb", "GPU-aaaa"]
    no_address = GpuReading(1, "GPU-eeee")
    assert shown(OLD, no_address) == ["GPU-aaaa", "GPU-eeee"], "one unknown: NVML's order"


@pytest.mark.parametrize(
    ("selection", "uuids"),
    [
        ("1", ["GPU-aaaa"]),
        (" 1 , 0 ", ["GPU-aaaa", "GPU-aabb"]),
        ("GPU-aab", ["GPU-aabb"]),
        ("GPU-aa", []),  # ambiguous
        ("GPU-zz,0", []),
        ("0,0,1", ["GPU-aabb"]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
    ],
)
def test_selection(selection: str, uuids: list[str]) -> None:
    assert shown(OLD, NEW, CUDA_VISIBLE_DEVICES=selection) == uuids


def test_cuda_shows_one_mig_instance_unless_they_are_named() -> None:
    assert shown(SLICED) == ["MIG-1"]
    assert shown(SLICED, CUDA_VISIBLE_DEVICES="MIG-2,MIG-1") == ["MIG-2", "MIG-1"]
    (part,) = visible_gpus([SLICED], {}).gpus
    assert (part.memory_total_mb, part.name) == (16384, "NVIDIA H200 MIG")
    assert shown(SLICED, NEW) == ["GPU-aabb"], "whole cards come first"


def test_the_order_of_unlike_cards_is_uncertain_by_index_only() -> None:
    def notes(*gpus: GpuReading, **environ: str) -> tuple[str, ...]:
        return visible_gpus(gpus, environ).notes

    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in notes(OLD, NEW, CUDA_VISIBLE_DEVICES="0")[0]
    assert notes(OLD, NEW)
    assert not notes(NEW, TWIN)
    assert not notes(OLD, NEW, CUDA_VISIBLE_DEVICES="GPU-aaaa")
    assert not notes(OLD, NEW, CUDA_DEVICE_ORDER="PCI_BUS_ID")
