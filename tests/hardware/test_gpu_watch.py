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
watch = GpuWatch.open({ordinal}, {name!r})
if watch is None:
    print("null")
else:
    energy_mj = [watch.energy_mj(), watch.energy_mj()]
    print(json.dumps(asdict(watch.state()) | {{"energy_mj": energy_mj}}))
"""


BUS_ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def watched(folder: Path, scenario: str, ordinal: int = 0, name: str = RTX_2080TI, **environ: str) -> Any:
    """Of an RTX 2080 Ti, which is held back, and an RTX 2060, which is not; numbered by their address."""
    return fake_driver.run(folder, scenario, WATCH.format(ordinal=ordinal, name=name), **(BUS_ORDER | environ))


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


def test_the_gpu_that_the_framework_uses_is_watched(driver: Path) -> None:
    assert watched(driver, "", 1, RTX_2060)["throttled"] == []
    assert watched(driver, "", 0, RTX_2080TI)["throttled"]


@pytest.mark.parametrize(("ordinal", "name"), [(0, RTX_2060), (1, RTX_2080TI), (2, RTX_2060)])
def test_a_gpu_that_is_not_where_it_should_be_is_not_watched(driver: Path, ordinal: int, name: str) -> None:
    assert watched(driver, "", ordinal, name) is None


@pytest.mark.parametrize("selection", [{}, {"CUDA_VISIBLE_DEVICES": "0,1,2"}], ids=str)
def test_unlike_gpus_in_an_order_that_cuda_keeps_to_itself_are_known_by_name(driver: Path, selection: Any) -> None:
    unknown = {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"} | selection
    for ordinal in (0, 1):
        assert watched(driver, "", ordinal, RTX_2080TI, **unknown)["throttled"]
        assert watched(driver, "", ordinal, RTX_2060, **unknown)["throttled"] == []
    assert watched(driver, "", 0, "NVIDIA T4", **unknown) is None
    assert watched(driver, "three", 1, RTX_2060, **unknown) is None, "two of a name"
    alone = watched(driver, "one", name=RTX_2060, CUDA_DEVICE_ORDER="FASTEST_FIRST")
    assert alone is not None, "a single one has no order"


def test_cudas_selection_is_followed(driver: Path) -> None:
    by_uuid = {"CUDA_VISIBLE_DEVICES": UUID_1, "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    assert watched(driver, "", 0, RTX_2060, **by_uuid)["throttled"] == []
    assert watched(driver, "", 0, RTX_2080TI, **by_uuid) is None
    assert watched(driver, "", 1, RTX_2080TI, CUDA_VISIBLE_DEVICES="1,0")["throttled"]


def test_the_boards_energy_and_power_are_not_an_instances(driver: Path) -> None:
    found = watched(driver, "mig", 0, "NVIDIA A100-SXM4-40GB MIG 1g.5gb", CUDA_VISIBLE_DEVICES="0")
    assert watched(driver, "mig", 0, RTX_2060, CUDA_VISIBLE_DEVICES="0") is None
    assert (found["energy_mj"], found["power_w"], found["sm_clock_mhz"]) == ([None, None], None, 1350)


@pytest.mark.parametrize("scenario", ["no_driver", "lost,one", "unknown"])
def test_without_an_answer_nothing_is_watched_and_nothing_is_raised(driver: Path, scenario: str) -> None:
    """A driver that refuses everything shows no name to know the GPU by."""
    assert watched(driver, scenario) is None
