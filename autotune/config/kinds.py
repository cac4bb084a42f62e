"""Whether values are of the kinds that the schema declares, once every reference in them is followed.

OmegaConf looks at a value's kind where it is written. It does not look at what a reference in place of a whole list or
dictionary leads to, nor at a list within a list of numbers; a check that compares such a value would break.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from autotune.config.checks import MISSING, require
from autotune.errors import ConfigError

_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a dictionary",
    Any: "a list, a dictionary, a number, text, true, false or null",
}

_RECORDED = (bool, int, float, str, type(None))  # single values that a record can hold, and a worker is handed

_MOST_BITS = 64  # more cannot be written to a record as a number, and are not even printed


def check(value: Any, hint: Any, key: str = "") -> None:
    """Compare a plain value, and all within it, with its declaration.

    Args:
        value: lists, dictionaries and single values; what is missing is left for OmegaConf to report.
        hint: a dataclass, or what the annotation of one of its fields may be.
        key: dotted key of the value.

    Raises:
        ConfigError: naming the key and the kind.
    """
    if value == MISSING:
        return
    origin, inner = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        _require(isinstance(value, dict) and value.keys() == hints.keys(), key, hint, value)
        for name, of_field in hints.items():
            check(value[name], of_field, f"{key}.{name}".lstrip("."))
    elif origin is Union:  # Optional is the only one that the schema has
        if value is not None:
            check(value, inner[0], key)
    elif origin is list or (hint is Any and isinstance(value, list)):
        _require(isinstance(value, list), key, list, value)
        for entry in value:
            check(entry, inner[0] if inner else Any, f"an entry of {key}")
    elif origin is dict or (hint is Any and isinstance(value, dict)):
        _require(isinstance(value, dict), key, dict, value)
        for name, entry in value.items():
            require(isinstance(name, str), f"the keys of {key} must be text", name, "put it in quotes")
            check(entry, inner[1] if inner else Any, f"{key}.{name}")
    else:
        _check_one(value, hint, key)


def _check_one(value: Any, kind: Any, key: str) -> None:
    if isinstance(value, int) and value.bit_length() >= _MOST_BITS:  # hexadecimal ones have no other limit
        raise ConfigError(f"{key} must be a number below 2**{_MOST_BITS - 1}, but got one of {value.bit_length()} bits")
    _require(isinstance(value, _RECORDED) if kind is Any else _is_one(value, kind), key, kind, value)


def _is_one(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _require(condition: bool, key: str, kind: Any, value: Any) -> None:
    words = "what its own keys are" if is_dataclass(kind) else _WORDS.get(kind, getattr(kind, "__name__", kind))
    require(condition, f"{key} must be {words}", value)
