"""Secrets that a configuration has from the environment, and how it is written down without them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

_SECRET_WORDS = frozenset(
    ("APIKEY", "CREDENTIAL", "CREDENTIALS", "KEY", "PASS", "PASSPHRASE", "PASSWD", "PASSWORD", "PWD", "SECRET", "TOKEN")
)
_NO_SECRETS = frozenset(("PWD",))
"""A shell's working folder."""

_SHORTEST = 6
"""A shorter value would also be found by chance in names and numbers that have nothing to do with it."""


def written(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """The text as OmegaConf reads it back, with a reference in place of each secret that it holds.

    A secret is the value of a variable whose name says so, such as `DB_PASSWORD` or `HUB_TOKEN`; it is written as
    `${oc.env:DB_PASSWORD}`, which composes to the same value wherever that variable is set.
    """
    for name, value in _secrets(environ):
        before, found, after = text.partition(value)
        if found:
            return f"{_doubled(written(before, environ))}${{oc.env:{name}}}{written(after, environ)}"
    return _escaped(text)


def without_secrets(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Text for people, such as a command line, with `$DB_PASSWORD` in place of that variable's value."""
    for name, value in _secrets(environ):
        text = text.replace(value, f"${name}")
    return text


def _secrets(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names and values, the longest value first: it may contain another."""
    found = [(name, value) for name, value in environ.items() if _is_secret(name) and len(value) >= _SHORTEST]
    yield from sorted(found, key=lambda entry: -len(entry[1]))


def _is_secret(name: str) -> bool:
    words = name.upper().split("_")
    return name.isidentifier() and name not in _NO_SECRETS and not _SECRET_WORDS.isdisjoint(words)


def _escaped(text: str) -> str:
    """`${` taken literally; the backslashes before it are doubled, since OmegaConf halves them there."""
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", text)


def _doubled(text: str) -> str:
    """The same for backslashes at the end of what comes before a reference."""
    return re.sub(r"(\\+)\Z", r"\1\1", text)
