"""Whether the device that is here is the part that a study is for."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config.hardware import DeviceKind, HardwareConfig, OnMismatch
from autotune.errors import HardwareError
from autotune.hardware.device import Device, numbered_by_framework
from autotune.hardware.match import is_part
from autotune.hardware.profile import Profile

__all__ = ["Target", "on_target", "resolve_target"]


def on_target(target: Profile, device: Device) -> tuple[bool, str]:
    """Whether the device is the target, and why (one line). `hw=auto` is always on target."""
    if target.kind is DeviceKind.auto:
        return True, f"hw=auto takes the device that is here: {device.name}"
    gpu = device.gpus[0] if device.gpus else None
    memory_gib = None if gpu is None else gpu.memory_total_gib
    if gpu is not None and gpu.mig_enabled and target.kind is DeviceKind.gpu:
        return False, f"the device is a MIG instance, a slice of a GPU, not a whole {target.title}"
    return is_part(target, device.kind, device.name, device.profile, memory_gib)


@dataclass(frozen=True, slots=True)
class Target:
    """The profile that was asked for, and whether the device here is that part, and why."""

    profile: Profile
    on_target: bool
    reason: str


def resolve_target(config: HardwareConfig, device: Device) -> Target:
    """The target of a run; `hw=auto` means the device itself.

    Raises:
        HardwareError: if the device is another part and `hw.on_mismatch=error`. Of unlike GPUs in an order that is not
            certain, it may be any.
    """
    asked = Profile.from_config(config)
    matches, reason = on_target(asked, device)
    if config.on_mismatch is OnMismatch.error and not any(on_target(asked, one)[0] for one in _possible(device)):
        raise HardwareError(
            f"hw.on_mismatch=error wants the target itself, but got a mismatch: {reason}; "
            "run on that hardware, or set hw.on_mismatch=run to measure on this device"
        )
    return Target(device.profile if asked.kind is DeviceKind.auto else asked, matches, reason)


def _possible(device: Device) -> list[Device]:
    """What the device may be, as long as the framework has not told which of unlike GPUs it uses."""
    if device.order_is_certain:
        return [device]
    return [numbered_by_framework(device, gpu.name) for gpu in device.gpus]
