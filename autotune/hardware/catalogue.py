"""The bundled profiles: `conf/hw/*.yaml`, read when first asked for."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import cast

from autotune.config.hardware import DeviceKind, HardwareConfig
from autotune.errors import HardwareError
from autotune.hardware.profile import Profile

__all__ = ["bundled", "bundled_profiles"]


@lru_cache(maxsize=1)
def bundled_profiles() -> tuple[Profile, ...]:
    """Every bundled profile but `auto`, sorted by name."""
    from omegaconf import OmegaConf  # it and 39 files are not worth loading for a mere import

    schema = OmegaConf.structured(HardwareConfig)
    profiles = []
    for entry in (resources.files("autotune.conf") / "hw").iterdir():
        if not entry.name.endswith(".yaml"):
            continue
        merged = OmegaConf.merge(schema, OmegaConf.create(entry.read_text(encoding="utf-8")))
        profiles.append(Profile.from_config(cast(HardwareConfig, OmegaConf.to_object(merged))))
    known = (profile for profile in profiles if profile.kind is not DeviceKind.auto)
    return tuple(sorted(known, key=lambda profile: profile.name))


def bundled(name: str) -> Profile:
    """The bundled profile of that name.

    Raises:
        HardwareError: if there is none.
    """
    for profile in bundled_profiles():
        if profile.name == name:
            return profile
    names = ", ".join(profile.name for profile in bundled_profiles())
    raise HardwareError(f"a profile must be one of {names}, but got {name!r}")
