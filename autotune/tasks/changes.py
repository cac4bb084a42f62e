"""What is not as it was when a study began, and whether its measurements still compare with new ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from autotune.config.compose import to_yaml_dict
from autotune.config.schema import Config
from autotune.record.events import StudyStarted, WorkerReady
from autotune.tasks.digests import OURS

# How a run is shown, logged and named touches no measurement.
_FREE = ("console.", "tracking.", "output.", "study.")

# More of the same: what was measured stays as good as it was.
_STAYS_VALID = (
    "search.trials",
    "search.budget",
    "search.early_stop",
    "search.trial_timeout_s",
    "search.max_worker_growth_mb",
)

_ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    Attributes:
        key: a key of the configuration, or what else it is.
        valid: whether the measurements before it still compare with those after it.
    """

    key: str
    before: str
    now: str
    valid: bool = False

    def __str__(self) -> str:
        return f"{self.key} was {self.before} and is {self.now}"


def of_settings(before: StudyStarted, now: StudyStarted) -> list[Change]:
    """Between two sessions' configurations, packages and code."""
    own, other = _flat(now.config), _flat(before.config)
    other = {key: value for key, value in _defaults().items() if key in own and key not in _STAYS_VALID} | other
    found = [change for change in _differences("", other, own, _STAYS_VALID) if not change.key.startswith(_FREE)]
    # The sampler is Optuna's: another version may propose others, and what was measured stays what it is.
    found += _differences("package ", before.versions, now.versions, tuple(now.versions))
    return [*found, *_differences("code of ", before.code, now.code, (OURS,))]


def of_device(before: StudyStarted, now: StudyStarted) -> list[Change]:
    """Between two sessions' devices, as the framework uses them."""
    own, other = _flat(before.device["fingerprint"]), _flat(now.device["fingerprint"])
    found = list(_differences("device: ", own, other))
    drivers = [(event.device["nvml"] or {}).get("driver_version") for event in (before, now)]
    if drivers[0] != drivers[1]:
        found.append(Change("the driver", _told(drivers[0]), _told(drivers[1])))
    return found


def of_worker(before: WorkerReady, now: WorkerReady) -> list[Change]:
    """Between two sessions' data and frameworks."""
    found = []
    if before.data.fingerprint != now.data.fingerprint:
        found.append(Change("the data", _data(before), _data(now)))
    for name in ("accelerator", "intra_op_threads", "inter_op_threads", "onednn", "tf32"):
        own, other = getattr(now.facts, name), getattr(before.facts, name)
        if own != other:
            found.append(Change(f"TensorFlow's {name}", str(other), str(own)))
    found += _differences("package ", before.facts.versions, now.facts.versions)
    return [*found, *_differences("environment: ", before.facts.environment, now.facts.environment)]


def _differences(
    prefix: str, before: dict[str, Any], now: dict[str, Any], valid: tuple[str, ...] = ()
) -> Iterator[Change]:
    for key in dict.fromkeys([*before, *now]):
        own, other = now.get(key, _ABSENT), before.get(key, _ABSENT)
        if own != other:
            yield Change(f"{prefix}{key}", _told(other), _told(own), key in valid)


@lru_cache(maxsize=1)
def _defaults() -> dict[str, Any]:
    """What keys mean where a version that did not know them left them out."""
    return _flat(to_yaml_dict(Config()))


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted keys to plain values, as they come back from the record."""
    flat: dict[str, Any] = {}
    for key, entry in value.items():
        if isinstance(entry, dict) and entry:
            flat |= _flat(entry, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = json.loads(json.dumps(entry))
    return flat


def _data(ready: WorkerReady) -> str:
    return f"{ready.data.name} ({ready.data.fingerprint})"


def _told(value: Any) -> str:
    return "null" if value is None else str(value)
