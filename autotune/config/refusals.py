"""One line for a value that the schema refuses, for a missing one and for a broken reference."""

from __future__ import annotations

import re
from collections.abc import Iterable

from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    InterpolationResolutionError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)

from autotune.config.checks import did_you_mean
from autotune.config.keys import misspelt, nearest_key, schema_keys

_EXPECTED = {"Integer": "a whole number", "Float": "a number", "Boolean": "true or false"}
_CONVERTED = re.compile(r"Value (?P<value>'.*') of type '\w+' could not be converted to (?P<kind>\w+)", re.DOTALL)
_BOOLEAN = re.compile(r"Value (?P<value>'.*') is not a valid bool", re.DOTALL)
_ENUM = re.compile(r"Invalid value '(?P<value>.*)', expected one of \[(?P<choices>.*)\]", re.DOTALL)
_REFERENCE = re.compile(r"Interpolation key '(?P<key>[^']+)' not found")
_NOT_A_LIST = re.compile(r"Invalid value assigned: \w+ is not a ListConfig, list or tuple")
_NOT_NULL = re.compile(r"(?:field|child) '.*' is not Optional")
_NO_DICTIONARY = re.compile("Cannot merge DictConfig with ListConfig")
_KEPT = re.compile(r"\(DictConfig\) does not support deletion")
_OTHER_KIND = re.compile(
    r"Invalid type assigned: .+ is not a subclass of (?P<kind>.+)\. value: (?P<value>.*)", re.DOTALL
)


def describe_refusal(error: OmegaConfBaseException, override: str | None = None, groups: Iterable[str] = ()) -> str:
    """What OmegaConf objects to, with the full key.

    Args:
        error: OmegaConf's exception.
        override: the key on the command line, where OmegaConf does not know the full one.
        groups: names of config groups, which a misspelt key may have meant.
    """
    key = override or error.full_key or "the configuration"
    first = str(error.msg or error).partition("\n")[0].strip()
    if isinstance(error, (ConfigKeyError, ConfigAttributeError)):
        return misspelt(error.full_key or key, groups)
    if isinstance(error, MissingMandatoryValue):
        key = error.full_key or key
        return f"{key} has no value; set it: {key}=..."
    if isinstance(error, InterpolationResolutionError):
        return _reference(error.full_key or key, first)
    if match := _ENUM.match(first):
        choices = match["choices"].split(", ")
        return f"{key} must be one of {', '.join(choices)}, but got '{match['value']}'." + did_you_mean(
            match["value"], choices
        )
    if match := _CONVERTED.match(first) or _BOOLEAN.match(first):
        kind = match.groupdict().get("kind", "Boolean")
        return f"{key} must be {_EXPECTED.get(kind, kind)}, but got {match['value']}"
    if _NOT_A_LIST.match(first):
        return f"{key} must be a list such as [1,2], but got a single value"
    if refused := _shape(key, first):
        return refused
    return f"{key}: {first}" if override or error.full_key else first


def _shape(key: str, text: str) -> str | None:
    """What must be another kind of thing altogether; None if that is not what OmegaConf objects to."""
    if _NOT_NULL.match(text):
        return f"{key} must not be null; leave it out for its default"
    if _NO_DICTIONARY.match(text):
        return f"{key} must be a dictionary such as {{a: 1}}, but got a list"
    if _KEPT.search(text):
        return f"{key.lstrip('~')} cannot be removed; leave it out for its default"
    if match := _OTHER_KIND.match(text):
        kind = "text" if match["kind"] == "str" else "lists" if match["kind"].startswith("List") else "a dictionary"
        value = "null" if match["value"] == "None" else match["value"]
        return f"{key} must hold {kind}, but got {value}"
    return None


def _reference(key: str, text: str) -> str:
    match = _REFERENCE.match(text)
    if match is None:
        return f"{key} refers to something that cannot be resolved: {text}"
    near = nearest_key(match["key"], schema_keys())
    hint = f"; did you mean '{near}'?" if near else ""
    return f"{key} refers to '{match['key']}', which does not exist{hint}"
