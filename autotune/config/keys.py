"""All keys that the configuration has, and the one that a person may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from omegaconf import DictConfig, OmegaConf

GROUPS = ("model", "data", "train", "hw", "search", "constraint", "objective", "tracking")

START = "begin its defaults list with '- base' or '- config'"
"""How a primary configuration of one's own gets the schema's keys, or these and the groups."""

# What people call a key elsewhere.
_NICKNAMES = {"lr": "learning_rate", "bs": "batch_size", "n_trials": "trials", "timeout": "budget"}


@lru_cache(maxsize=1)
def schema_keys() -> tuple[str, ...]:
    """Every dotted key of the schema, such as `search` and `search.trials`."""
    return tuple(_schema())


@lru_cache(maxsize=1)
def hydra_keys() -> tuple[str, ...]:
    """Every dotted key of Hydra's own node."""
    from hydra.conf import HydraConf

    return tuple("hydra." + key for key in _dotted(OmegaConf.structured(HydraConf)))


@lru_cache(maxsize=1)
def open_keys() -> frozenset[str]:
    """Keys that hold a dictionary with any entries, such as `model.args`."""
    return frozenset(key for key, default in _schema().items() if default == {})


@lru_cache(maxsize=1)
def _schema() -> dict[str, Any]:
    """Every dotted key with its default; read from the dataclasses, which OmegaConf takes ten times as long for."""
    from autotune.config.schema import Config

    return dict(_fields(Config()))


def _fields(node: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    entries = {field.name: getattr(node, field.name) for field in fields(node)} if is_dataclass(node) else node
    for name, value in entries.items():
        yield f"{prefix}{name}", value
        if is_dataclass(value) or isinstance(value, dict):
            yield from _fields(value, f"{prefix}{name}.")


def nearest_key(typed: str, keys: Sequence[str]) -> str | None:
    """The key that was probably meant: a like one in the same group, else a like one anywhere."""
    group, _, last = typed.rpartition(".")
    anywhere = {key.rpartition(".")[2]: key for key in reversed(keys)}
    siblings = {key.rpartition(".")[2]: key for key in keys if key.rpartition(".")[0] == group}
    whole = {key: key for key in keys if key.count(".") == typed.count(".")}
    for word, choices in ((last, siblings), (last, anywhere), (typed, whole)):
        close = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
        if close:
            return choices[close[0]]
    return None


def misspelt(typed: str, groups: Iterable[str] = ()) -> str:
    """One line on a key that does not exist: the nearest that does, how to add an entry, or what all keys come from."""
    if typed in schema_keys():
        return f"there is no key '{typed}' here, since the primary configuration must start from base; {START}"
    parent = typed.rpartition(".")[0]
    if parent in open_keys():
        return f"'{typed}' is not there yet; {parent} takes any entry: add it with +{typed}=..."
    keys = hydra_keys() if typed.startswith("hydra.") else (*schema_keys(), *groups)
    last = typed.rpartition(".")[2]
    last = _NICKNAMES.get(last, last)
    same = [key for key in keys if key.rpartition(".")[2] == last][:3]
    near = same or list(filter(None, [nearest_key(typed, keys)]))
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "all keys: --cfg job"
    return f"there is no key '{typed}' in the configuration; {hint}"


def _dotted(node: DictConfig, prefix: str = "") -> list[str]:
    found: list[str] = []
    for key in map(str, node):
        found.append(f"{prefix}{key}")
        if not OmegaConf.is_missing(node, key) and not OmegaConf.is_interpolation(node, key):
            child: Any = node[key]
            if isinstance(child, DictConfig):
                found += _dotted(child, f"{prefix}{key}.")
    return found
