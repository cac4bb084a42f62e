"""Objectives that a device reports nothing of are refused in one line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.hardware import DeviceKind
from autotune.config.objective import Objective
from autotune.errors import HardwareError
from autotune.hardware.reports import check_objective
from tests.study.fake_machine import zen4


@pytest.mark.parametrize("objective", [Objective.energy, Objective.memory])
def test_a_cpu_reports_neither_energy_nor_peak_memory(objective: Objective) -> None:
    with pytest.raises(HardwareError) as refused:
        check_objective(objective, zen4())
    told = str(refused.value)
    assert told.startswith(f"objective={objective.value} needs a device that reports it, but got ")
    assert "try objective=throughput" in told
    assert "\n" not in told


@pytest.mark.parametrize("objective", [Objective.throughput, Objective.time_to_accuracy])
def test_what_needs_only_a_clock_goes_anywhere(objective: Objective) -> None:
    check_objective(objective, zen4())


@pytest.mark.parametrize("objective", list(Objective))
def test_a_gpu_is_asked_itself(objective: Objective) -> None:
    check_objective(objective, replace(zen4(), kind=DeviceKind.gpu))
