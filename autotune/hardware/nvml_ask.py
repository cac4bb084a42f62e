"""Single calls into NVML, each guarded on its own: what a driver refuses to tell is None."""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = ["Ask", "brief", "clock_reasons", "refusals", "text"]

# NVML API reference, nvmlClocksEventReasons. Idle and a clock that a person set are no throttling,
# but they explain a clock just as well, so all are named.
_CLOCK_REASONS = {
    0x001: "idle",
    0x002: "application_clocks",
    0x004: "power_cap",
    0x008: "hardware_slowdown",
    0x010: "sync_boost",
    0x020: "software_thermal",
    0x040: "hardware_thermal",
    0x080: "power_brake",
    0x100: "display_clocks",
}


class Ask:
    """Calls into NVML, each guarded on its own; the refusals are kept with the field's name."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.refused: dict[str, str] = {}

    def __call__(self, field: str, function: str, *args: Any, **kwargs: Any) -> Any:
        """The call's result, text decoded, or None."""
        try:
            value = getattr(self.module, function)(*args, **kwargs)
            self.refused.pop(field, None)
            return text(value) if isinstance(value, bytes) else value
        except UnicodeDecodeError as error:
            return text(error.object)
        except refusals(self.module) as error:
            self.refused[field] = brief(error)
            return None


def clock_reasons(ask: Ask, handle: Any) -> tuple[str, ...] | None:
    """Names of what sets the clock now; empty when it is free, None when that is not known."""
    field = "throttle_reasons"
    bits = ask(field, "nvmlDeviceGetCurrentClocksEventReasons", handle)
    if bits is None:  # the name before driver 535
        bits = ask(field, "nvmlDeviceGetCurrentClocksThrottleReasons", handle)
    if bits is None:
        return None
    return tuple(name for bit, name in _CLOCK_REASONS.items() if bits & bit)


def refusals(module: Any) -> tuple[type[Exception], ...]:
    """What a call can raise.

    NVML's own errors (NotSupported, NoPermission and Unknown were seen), and what follows from a
    binding that lacks the function or does not know a keyword.
    """
    own = getattr(module, "NVMLError", OSError)
    return (own, AttributeError, TypeError, ValueError, OSError, ctypes.ArgumentError)


def text(value: Any) -> Any:
    """Bytes, as bindings before nvidia-ml-py 11.5 return them, as text; anything else as it is."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def brief(error: Exception) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
