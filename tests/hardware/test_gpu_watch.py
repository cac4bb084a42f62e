"""One GPU read again and again, through the true pynvml and a driver library that this test compiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.hardware import fake_driver
from tests.hardware.fake_driver import RTX_2060, RTX_2080TI, UUID_1

WATCH = """
import json, sys
from dataclasses import asdict
from autotune.hardware.gpu_watch import GpuWatch
watch = GpuWatch.open({name!r})
if watch is None:
    print("null")
else:
    energy_mj = [watch.energy_mj(), watch.energy_mj()]
    print(json.dumps(asdict(watch.state()) | {{"energy_mj": energy_mj}}))
"""


def watched(folder: Path, scenario: str, name: str | None = RTX_2080TI, **environ: str) -> Any:
    return fake_driver.run(folder, scenario, WATCH.format(name=name), **environ)


def test_a_gpu_is_read_and_its_energy_counter_moves(driver: Path) -> None:
    found = watched(driver, "")
    before_mj, after_mj = found.pop("energy_mj")
    assert after_mj - before_mj == 2500
    assert found == {
        "sm_clock_mhz": 1350,
        "temperature_c": 55,
        "power_w": 61.5,
        "throttled": ["power_cap", "hardware_thermal"],
    }


def test_idleness_and_a_persons_own_clock_are_no_throttling(driver: Path) -> None:
    assert watched(driver, "free")["throttled"] == []


@pytest.mark.parametrize(
    ("scenario", "field", "unknown"),
    [
        ("no_energy", "energy_mj", [None, None]),
        ("no_power", "power_w", None),
        ("no_clock", "sm_clock_mhz", None),
        ("no_temperature", "temperature_c", None),
        ("no_reasons", "throttled", None),
    ],
)
def test_what_is_not_supported_is_unknown_and_the_rest_is_read(
    driver: Path, scenario: str, field: str, unknown: Any
) -> None:
    found, all_of_it = watched(driver, scenario), watched(driver, "")
    assert found.pop(field) == unknown
    del all_of_it[field]
    assert found == all_of_it


def test_of_unlike_gpus_the_one_with_the_frameworks_name_is_watched(driver: Path) -> None:
    """CUDA may have put the second first; only GPU 0 of NVML throttles here."""
    assert watched(driver, "", RTX_2060)["throttled"] == []
    assert watched(driver, "", RTX_2080TI)["throttled"]


def test_cudas_selection_is_followed(driver: Path) -> None:
    assert watched(driver, "", None, CUDA_VISIBLE_DEVICES=UUID_1)["throttled"] == []
    assert watched(driver, "", RTX_2080TI, CUDA_VISIBLE_DEVICES=UUID_1) is None


def test_the_boards_energy_and_power_are_not_an_instances(driver: Path) -> None:
    found = watched(driver, "mig", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", CUDA_VISIBLE_DEVICES="0")
    assert (found["energy_mj"], found["power_w"], found["sm_clock_mhz"]) == ([None, None], None, 1350)


@pytest.mark.parametrize("scenario", ["no_driver", "lost,one", "unknown"])
def test_without_an_answer_nothing_is_watched_and_nothing_is_raised(driver: Path, scenario: str) -> None:
    """A driver that refuses everything shows no name to know the GPU by."""
    assert watched(driver, scenario) is None
