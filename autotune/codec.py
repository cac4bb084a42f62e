"""Plain JSON for the frozen dataclasses of this package, through cattrs: one line out, the same value back."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, TypeVar

from cattrs.preconf.json import JsonConverter, make_converter

T = TypeVar("T")


@lru_cache(maxsize=1)
def _converter() -> JsonConverter:
    return make_converter(forbid_extra_keys=True)


def plain(value: Any) -> Any:
    """Dicts, lists, strings and numbers for a dataclass (enums become their values)."""
    return _converter().unstructure(value)


def restore(kind: type[T], value: Any) -> T:
    """The dataclass that `plain` was given.

    Raises:
        cattrs.BaseValidationError: the value does not describe one.
    """
    return _converter().structure(value, kind)


def dumps(value: Any) -> str:
    """One line of JSON; text stays readable, non-finite numbers are refused so that every line is valid JSON."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def loads(kind: type[T], line: str) -> T:
    """The dataclass of one line written by `dumps`."""
    return restore(kind, json.loads(line))
