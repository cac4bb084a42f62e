"""NVML detection through the true pynvml, which loads a driver library that this test compiles."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from autotune.hardware.nvml import read_nvml
from tests.hardware import fake_driver
from tests.hardware.fake_driver import RTX_2060, RTX_2080TI, UUID_1

DETECT = """
import json
from autotune.hardware.device import detect
print(json.dumps(detect().to_json()))
"""
# What bindings before nvidia-ml-py 11.5 did: names as bytes.
DETECT_BYTES = """
import pynvml
pynvml.nvmlDeviceGetName = pynvml.nvmlDeviceGetName.__wrapped__
pynvml.nvmlDeviceGetUUID = pynvml.nvmlDeviceGetUUID.__wrapped__
"""


def run(folder: Path, scenario: str, code: str = DETECT, **environ: str) -> dict[str, Any]:
    return dict(fake_driver.run(folder, scenario, code, **environ))


def test_two_gpus_are_read_field_by_field(driver: Path) -> None:
    found = run(driver, "unsupported")
    first, second = found["gpus"]
    assert found["kind"] == "gpu"
    assert found["name"] == RTX_2080TI
    assert found["profile"] == "rtx2080ti"
    assert found["nvml"]["available"] is True
    assert found["nvml"]["driver_version"] == "555.42.06"
    assert found["fingerprint"]["compute_capability"] == "7.5"
    assert first["uuid"] == "GPU-00000000-0000-0000-0000-000000000000"
    assert first["pci_bus_id"] == "00000000:3B:00.0"
    assert (first["memory_total_mb"], first["memory_used_mb"]) == (11264, 256)
    assert (first["power_w"], first["energy_mj"]) == (61.5, 123456789)
    assert (first["sm_clock_mhz"], first["max_sm_clock_mhz"]) == (1350, 2100)
    assert first["throttle_reasons"] == ["power_cap", "hardware_thermal"]
    assert first["temperature_c"] == 55
    assert first["processes"] == []
    assert second["name"] == RTX_2060
    assert second["throttle_reasons"] == []


def test_unsupported_power_and_energy_are_unknown_not_zero(driver: Path) -> None:
    second = run(driver, "unsupported")["gpus"][1]
    assert second["power_w"] is None
    assert second["energy_mj"] is None
    assert second["mig_enabled"] is None
    refused = dict(second["unread"])
    assert refused.keys() == {"power_w", "energy_mj", "mig_enabled"}
    assert "Not Supported" in refused["energy_mj"]


def test_names_as_bytes_are_read_like_text(driver: Path) -> None:
    assert run(driver, "", DETECT_BYTES + DETECT)["gpus"] == run(driver, "")["gpus"]


def test_a_name_that_is_not_utf8_costs_the_name_only(driver: Path) -> None:
    found = run(driver, "bad_name")
    assert found["name"].startswith("NVIDIA G")
    assert found["profile"] == "unknown_gpu"
    assert found["gpus"][0]["memory_total_mb"] == 11264


def test_a_mig_instance_has_its_own_memory_and_never_the_whole_cards(driver: Path) -> None:
    instance = "MIG-11111111-0000-0000-0000-000000000000"
    (gpu,) = run(driver, "mig", CUDA_VISIBLE_DEVICES=instance)["gpus"]
    assert gpu["uuid"] == instance
    assert gpu["name"] == "NVIDIA A100-SXM4-40GB MIG 2g.10gb"
    assert gpu["mig_enabled"] is True
    assert gpu["memory_total_mb"] == 9856
    found = run(driver, "mig", CUDA_VISIBLE_DEVICES="0")
    assert found["gpus"][0]["memory_total_mb"] == 4864
    assert found["profile"] == "unknown_gpu", "a slice has not the peaks of an A100"


def test_what_may_not_be_read_is_unknown_and_the_rest_is_kept(driver: Path) -> None:
    gpu = run(driver, "no_permission")["gpus"][0]
    assert gpu["memory_total_mb"] is None
    assert gpu["sm_clock_mhz"] is None
    assert gpu["processes"] is None
    assert gpu["max_sm_clock_mhz"] == 2100
    assert "Permission" in dict(gpu["unread"])["memory"]


def test_unknown_errors_everywhere_still_give_a_gpu(driver: Path) -> None:
    found = run(driver, "unknown,one")
    assert found["kind"] == "gpu"
    assert found["name"] == "unknown NVIDIA GPU"
    read = {key for key, value in found["gpus"][0].items() if value not in (None, [])}
    assert read == {"index", "unread"}


def test_a_lost_gpu_does_not_hide_the_other(driver: Path) -> None:
    found = run(driver, "lost")
    assert [gpu["name"] for gpu in found["gpus"]] == [RTX_2060]
    assert "GPU 0 of NVML cannot be opened" in found["notes"][0]


def test_a_gpu_that_somebody_else_uses_is_said(driver: Path) -> None:
    found = run(driver, "busy")
    assert found["gpus"][0]["processes"] == [
        {"pid": 4242, "kind": "compute", "name": "/opt/somebody/train", "used_mb": 900},
        {"pid": 4343, "kind": "compute", "name": None, "used_mb": None},
    ]
    assert any("/opt/somebody/train (pid 4242)" in note for note in found["notes"])


def test_the_older_memory_query_is_the_second_choice(driver: Path) -> None:
    gpu = run(driver, "memory_v1")["gpus"][0]
    assert (gpu["memory_total_mb"], gpu["memory_used_mb"]) == (11264, 512)
    assert "memory" not in dict(gpu["unread"])


def test_shutdown_follows_a_successful_init_only(driver: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    run(driver, "one", FAKE_NVML_LOG=str(good))
    found = run(driver, "no_driver", FAKE_NVML_LOG=str(bad))
    assert good.read_text().split() == ["init", "shutdown"]
    assert bad.read_text().split() == ["init"]
    assert found["kind"] == "cpu"
    assert found["nvml"]["available"] is False
    assert "Driver Not Loaded" in found["nvml"]["reason"]


def test_a_library_that_cannot_be_loaded_is_no_driver(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("not a library")
    found = run(tmp_path, "")
    assert found["kind"] == "cpu"
    assert "LibraryNotFound" in found["nvml"]["reason"]
    assert found["nvml"]["module_path"].endswith(".py")
    assert found["nvml"]["module_version"]


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        ("1", [RTX_2060]),
        ("1,0", [RTX_2060, RTX_2080TI]),
        (UUID_1, [RTX_2060]),
        ("GPU-1", [RTX_2060]),
        ("0,7,1", [RTX_2080TI]),
        ("", []),
        ("-1", []),
    ],
)
def test_cuda_visible_devices_selects_and_reorders(driver: Path, visible: str, names: list[str]) -> None:
    found = run(driver, "", CUDA_VISIBLE_DEVICES=visible)
    assert [gpu["name"] for gpu in found["gpus"]] == names
    assert found["kind"] == ("gpu" if names else "cpu")


def test_a_binding_without_the_newer_functions_is_enough() -> None:
    class OldError(Exception):
        pass

    def memory(handle: object) -> SimpleNamespace:
        return SimpleNamespace(total=2**31, used=2**20)

    old = ModuleType("pynvml")
    old.__dict__.update(
        NVMLError=OldError,
        nvmlMemory_v2=1,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetMemoryInfo=memory,
        nvmlDeviceGetName=lambda handle: b"GeForce GTX 1080 Ti",
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 0x80,
    )
    (gpu,) = read_nvml(old).gpus
    assert gpu.name == "GeForce GTX 1080 Ti"
    assert gpu.memory_total_mb == 2048
    assert gpu.throttle_reasons == ("power_brake",)
    assert gpu.power_w is None
