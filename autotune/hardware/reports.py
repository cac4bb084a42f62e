"""What a device reports of itself, and so which objectives can be measured on it."""

from __future__ import annotations

from autotune.config.hardware import DeviceKind
from autotune.config.objective import Objective
from autotune.errors import HardwareError
from autotune.hardware.device import Device

_NEEDS_A_GPU = {
    Objective.energy: "NVML counts the energy of NVIDIA GPUs since Volta",
    Objective.memory: "TensorFlow reports the peak memory of a GPU; a CPU's is the whole process's",
}


def check_objective(objective: Objective, device: Device) -> None:
    """Refuse an objective that this device reports nothing of.

    Raises:
        HardwareError: the device is not one that reports it.
    """
    why = _NEEDS_A_GPU.get(objective)
    if why is not None and device.kind is not DeviceKind.gpu:
        raise HardwareError(
            f"objective={objective.value} needs a device that reports it, but got {device.name} ({why}); try"
            " objective=throughput or objective=time_to_accuracy"
        )
