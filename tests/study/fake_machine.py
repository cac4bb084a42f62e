"""A machine that is the same wherever a test runs, and the first line of a record made on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from autotune.config.hardware import DeviceKind
from autotune.hardware.device import Device, detect
from autotune.hardware.host import Host, read_host
from autotune.hardware.nvml import NvmlReport, NvmlStatus
from autotune.hardware.onednn import read_onednn
from autotune.record import events as ev


def zen4() -> Device:
    """A quiet Zen 4 without a GPU, whatever runs this test."""

    def machine(environ: Any) -> Host:
        return replace(
            read_host(environ, Path("/no/such/root")),
            machine="x86_64",
            cpu_model="AMD EPYC 9124",
            cpu_vendor="AuthenticAMD",
            cpu_family=25,
            cpu_flags=frozenset({"avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16"}),
            logical_cores=8,
            physical_cores=8,
            affinity_cores=8,
            memory_total_mb=16000.0,
            load_average_1m=0.0,
        )

    device = detect({}, read_gpus=lambda: NvmlReport(NvmlStatus(False, "no driver")), read_machine=machine)
    assert device.kind is DeviceKind.cpu
    return device


def zen4_without_bf16() -> Device:
    """The same, where a setting of oneDNN takes its bf16 instructions away."""
    device = zen4()
    onednn = read_onednn(device.host.cpu_flags, "x86_64", {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}, system="Linux")
    return replace(device, host=replace(device.host, onednn=onednn))


def study_started(folder: Path, on_target: bool = True, objective: str = "throughput") -> ev.StudyStarted:
    """The first line of a record."""
    return ev.StudyStarted(
        format=ev.FORMAT,
        study="2026-01-01/12-00-00_net",
        started_unix_s=0.0,
        config={
            "constraint": {"metric": "accuracy", "margin": 0.01, "direction": "higher"},
            "objective": {"name": objective},
        },
        target={"name": "auto", "title": "here", "kind": "cpu"},
        device={"name": "AMD EPYC 9124"},
        on_target=on_target,
        target_note="",
        output_dir=str(folder),
        command="python -m autotune",
        versions={},
    )
