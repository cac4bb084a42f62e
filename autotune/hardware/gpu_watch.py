"""One GPU's clock, temperature, power and energy, read again and again beside a measurement.

`read_nvml` asks about everything, once; this asks about little, often, and keeps NVML open for it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from autotune.hardware.nvml import GpuReading, read_nvml
from autotune.hardware.nvml_ask import Ask, clock_reasons, refusals
from autotune.hardware.visible import visible_gpus

__all__ = ["GpuState", "GpuWatch"]

# What sets the clock without anything having happened: nothing to do, or a setting that somebody made.
_NO_THROTTLING = {"idle", "application_clocks", "display_clocks"}


@dataclass(frozen=True, slots=True)
class GpuState:
    """A GPU at one moment; None is unknown. `throttled` is empty when nothing holds the clock back."""

    sm_clock_mhz: int | None
    temperature_c: int | None
    power_w: float | None
    throttled: tuple[str, ...] | None


class GpuWatch:
    """Reads one GPU. Each call is guarded on its own and none raises.

    Args:
        module: the NVML binding, initialised; it stays so as long as the process lives.
        handle: the GPU's.
        whole: whether a process has the GPU to itself, and not a MIG instance of it: power and energy are the whole
            board's.
    """

    def __init__(self, module: Any, handle: Any, whole: bool) -> None:
        self._ask = Ask(module)
        self._handle = handle
        self._whole = whole
        self._sm = getattr(module, "NVML_CLOCK_SM", 1)

    @classmethod
    def open(
        cls, ordinal: int, name: str, environ: Mapping[str, str] = os.environ, module: ModuleType | None = None
    ) -> GpuWatch | None:
        """The watch of one of CUDA's GPUs; None where NVML does not reach it, or cannot tell which one it is.

        Another card's clock and energy would be worse than none. CUDA may number the fastest GPU first, which NVML
        cannot know: of unlike ones that are chosen by index, only one that has its name to itself is watched, unless
        CUDA_DEVICE_ORDER is PCI_BUS_ID.

        Args:
            ordinal: the GPU's place among those that CUDA shows.
            name: the GPU's as the framework reports it.
            environ: holds CUDA's selection.
            module: an imported NVML binding; `pynvml` is imported when None.
        """
        try:
            module = module or importlib.import_module("pynvml")
            module.nvmlInit()
        except ImportError:
            return None
        except refusals(module):
            return None
        seen = visible_gpus(read_nvml(module).gpus, environ)
        # Where the order is not certain, the name alone tells.
        possible = seen.gpus[ordinal : ordinal + 1] if seen.order_is_certain else seen.gpus
        named = [gpu for gpu in possible if _is_named(gpu, name)]
        if len(named) != 1:
            return None
        [gpu] = named
        handle = Ask(module)("handle", "nvmlDeviceGetHandleByIndex", gpu.index)
        return None if handle is None else cls(module, handle, whole=not gpu.mig_enabled)

    def energy_mj(self) -> int | None:
        """Energy that the GPU has used since its driver was loaded [mJ]; Volta and newer."""
        if not self._whole:
            return None
        used = self._ask("energy_mj", "nvmlDeviceGetTotalEnergyConsumption", self._handle)
        return None if used is None else int(used)

    def state(self) -> GpuState:
        """Clock, temperature, power, and what holds the clock back, now."""
        power_mw = self._ask("power_w", "nvmlDeviceGetPowerUsage", self._handle) if self._whole else None
        reasons = clock_reasons(self._ask, self._handle)
        return GpuState(
            sm_clock_mhz=self._ask("sm_clock_mhz", "nvmlDeviceGetClockInfo", self._handle, self._sm),
            temperature_c=self._ask("temperature_c", "nvmlDeviceGetTemperature", self._handle, 0),
            power_w=None if power_mw is None else power_mw / 1000,
            throttled=None if reasons is None else tuple(name for name in reasons if name not in _NO_THROTTLING),
        )


def _is_named(gpu: GpuReading, name: str) -> bool:
    """Whether the framework's name is this GPU's; an instance's, which NVML may not tell, begins with its board's."""
    if gpu.name is None:
        return False
    return name.startswith(gpu.name) if gpu.mig_enabled else name == gpu.name
