"""The bundled profiles: `conf/hw/*.yaml`, read when first asked for."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import cast

from autotune.config.hardware import HardwareConfig
from autotune.errors import HardwareError
from autotune.hardware.profile import Profile

__all__ = ["bundled", "bundled_profiles"]


@lru_cache(maxsize=1)
def bundled_profiles() -> tuple[Profile, ...]:
    """Every bundled profile but `auto`, sorted by name."""
    return tuple(bundled(name) for name in _names())


@lru_cache(maxsize=64)
def bundled(name: str) -> Profile:
    """The bundled profile of that name.

    Raises:
        HardwareError: if there is none.
    """
    if name not in _names():
        raise HardwareError(f"a profile must be one of {', '.join(_names())}, but got {name!r}")
    from omegaconf import OmegaConf  # not worth loading for a mere import

    written = OmegaConf.create((_folder() / f"{name}.yaml").read_text(encoding="utf-8"))
    merged = OmegaConf.merge(OmegaConf.structured(HardwareConfig), written)
    return Profile.from_config(cast(HardwareConfig, OmegaConf.to_object(merged)))


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    """A profile is named as its file."""
    files = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in files if name.endswith(".yaml") and name != "auto.yaml"))


def _folder() -> Traversable:
    return resources.files("autotune.conf") / "hw"
