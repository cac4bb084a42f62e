"""Plain JSON for the frozen dataclasses of this package, through cattrs: one line out, the same value back."""

from __future__ import annotations

import enum
import json
from functools import lru_cache
from typing import Any, TypeVar

from cattrs.preconf.json import JsonConverter, make_converter

T = TypeVar("T")

# What may stand for a primitive in JSON; cattrs itself would make "None" of null and 7 of 7.9.
_ACCEPTED: dict[type, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float), bool: (bool,)}


@lru_cache(maxsize=1)
def _converter() -> JsonConverter:
    converter = make_converter(forbid_extra_keys=True)
    for kind in _ACCEPTED:
        converter.register_structure_hook(kind, _strict)
    return converter


def _strict(value: Any, kind: Any) -> Any:
    """A primitive as it is; cattrs comes here for a StrEnum too, which is a str."""
    if issubclass(kind, enum.Enum):
        return kind(value)
    if not isinstance(value, _ACCEPTED[kind]) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{kind.__name__} expected, but got {value!r}")
    return kind(value)


def plain(value: Any) -> Any:
    """Dicts, lists, strings and numbers for a dataclass (enums become their values)."""
    return _converter().unstructure(value)


def restore(kind: type[T], value: Any) -> T:
    """The dataclass that `plain` was given.

    Raises:
        cattrs.BaseValidationError, TypeError, ValueError: the value does not describe one.
    """
    return _converter().structure(value, kind)


def dumps(value: Any) -> str:
    """One line of JSON; text stays readable, non-finite numbers are refused so that every line is valid JSON."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def loads(kind: type[T], line: str) -> T:
    """The dataclass of one line written by `dumps`."""
    return restore(kind, json.loads(line))
