"""One line for an override that Hydra's grammar cannot read."""

from __future__ import annotations

import re

from autotune.errors import ConfigError

FLAGS = ("--help", "--version", "--multirun", "--cfg", "--info", "--config-dir", "--config-name")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?")
_PAIRS = (("[", "]"), ("{", "}"), ("(", ")"))


def check_choice(group: str, override: str) -> None:
    """Refuse what Hydra takes for a group's choice, though it is none: a list of them, null, a number.

    Raises:
        ConfigError: naming the group.
    """
    value = override.partition("=")[2].strip()
    if value.startswith("["):
        raise ConfigError(f"{group} takes one choice, but got {value}; run several with -m {group}={value.strip('[]')}")
    if value in ("", "null") or _NUMBER.fullmatch(value):
        raise ConfigError(f"{group} must be the name of a choice, but got {value or 'nothing'}; --help lists them")


def describe_override(override: str, message: str) -> str:
    """Why `override` cannot be read, and how to write it.

    Args:
        override: the argument as typed.
        message: Hydra's explanation, for what is not recognised here.
    """
    key, equals, value = override.partition("=")
    if not equals and f"--{override}" in FLAGS:
        return f"'{override}' is a flag; write --{override}"
    if not equals and not override.startswith("~"):
        return f"'{override}' has no value; write {override or 'key'}=..., without spaces around the ="
    if not key.strip("+~ "):
        return f"'{override}' has no key in front of the =; write key=value, without spaces around the ="
    for opening, closing in _PAIRS:
        if value.count(opening) != value.count(closing):
            return f"'{override}' has an unbalanced {opening} or {closing}"
    for quote in ("'", '"'):
        if value.replace("\\" + quote, "").count(quote) % 2:
            return f"'{override}' has an unbalanced {quote}"
    if message.startswith("LexerNoViableAlt") or "mismatched" in message or "extraneous" in message:
        return f"'{override}' cannot be read; quote a value with special characters: '{key}=\"...\"'"
    reason = message.partition("\nSee http")[0].removeprefix(f"Error parsing override '{override}'")
    return f"'{override}' cannot be read: {reason}"
