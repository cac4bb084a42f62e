"""What a study's record says of its configuration, its device and its target, as values again.

A record holds them as plain values, and one by another version of this package may lack some or have others: what is
not known is left at its default, and what cannot be read at all is None. No text in it is looked up anywhere: it may be
somebody else's record, and `${oc.env:...}` in it is what it is.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TypeVar

from cattrs import BaseValidationError

from autotune import codec
from autotune.config.hardware import DeviceKind, HardwareConfig
from autotune.config.model import ModelConfig
from autotune.config.schema import CandidateConfig, Config
from autotune.config.search import SearchConfig
from autotune.config.train import TrainConfig
from autotune.errors import ConfigError, HardwareError
from autotune.hardware.catalogue import bundled
from autotune.hardware.onednn import Bf16Support, OneDnn
from autotune.hardware.policies import PolicyChoice, policy_choices
from autotune.hardware.profile import Profile
from autotune.record.events import StudyStarted

G = TypeVar("G")


def config_of(started: StudyStarted) -> Config | None:
    """The groups that explanations look at: model, train, candidate and search."""
    model = _group("model", ModelConfig, started)
    train = _group("train", TrainConfig, started)
    candidate = _group("candidate", CandidateConfig, started)
    search = _group("search", SearchConfig, started)
    if model is None or train is None or candidate is None or search is None:
        return None
    return Config(model=model, train=train, candidate=candidate, search=search)


def device_profile(started: StudyStarted) -> Profile | None:
    """The device that measured; None where no bundled profile is known to be that part."""
    device = started.device
    known = _bundled(device.get("profile") or device.get("name"))
    if known is None or known.kind is not DeviceKind.cpu:
        return known
    host = device.get("host", {})
    return replace(known, cpu_flags=frozenset(host.get("cpu_flags", ())), sm_count=host.get("physical_cores"))


def device_choices(started: StudyStarted) -> tuple[PolicyChoice, ...]:
    """Which policies the device that measured is worth, and why; nothing where it is not known."""
    profile = device_profile(started) or bare_device(started)
    if profile is None:
        return ()
    plain = started.device.get("host", {}).get("onednn")
    try:
        onednn = OneDnn(**{**plain, "bf16": Bf16Support(plain["bf16"])}) if plain else None
    except (KeyError, TypeError, ValueError):
        onednn = None
    return policy_choices(profile, onednn)


def target_profile(started: StudyStarted) -> Profile | None:
    """The profile that was asked for; the device's where that is what was asked for."""
    hw = _group("hw", HardwareConfig, started)
    if hw is not None and hw.kind in (DeviceKind.gpu, DeviceKind.cpu, DeviceKind.tpu):
        return Profile.from_config(hw)
    if (known := _bundled(started.target.get("name"))) is not None and known.kind is not DeviceKind.cpu:
        return known
    return (device_profile(started) or bare_device(started)) if started.on_target else None


def bare_device(started: StudyStarted) -> Profile | None:
    """The device without any rate, where only its kind is known; None where not even that is."""
    device = started.device
    try:
        kind = DeviceKind(str(device.get("kind")))
    except ValueError:
        return None
    title = str(device.get("name") or f"this {kind.value}")
    flags = frozenset(device.get("host", {}).get("cpu_flags", ()))
    return Profile("device", title, kind, cpu_flags=flags if kind is DeviceKind.cpu else frozenset())


def _bundled(name: object) -> Profile | None:
    try:
        return bundled(str(name))
    except HardwareError:
        return None


def _group(name: str, kind: type[G], started: StudyStarted) -> G | None:
    """One group of a recorded configuration."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    plain = {key: value for key, value in started.config.get(name, {}).items() if key in known}
    try:
        return codec.restore(kind, plain)
    except (BaseValidationError, ConfigError, TypeError, ValueError):
        return None
