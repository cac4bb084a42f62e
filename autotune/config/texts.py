"""What no text of a configuration may hold: characters that a terminal acts on, and that no file can be named by."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from autotune.errors import ConfigError
from autotune.masking import masked

_WHITE = "\t\n\r"
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They make a line look other than it is (Unicode's report 36 on security)."""


def check(config: Mapping[str, Any]) -> None:
    """Refuse control characters, halves of characters, and what reorders a line, in every key and value.

    Args:
        config: plain values.

    Raises:
        ConfigError: naming the key and the character's number.
    """
    for key, text in _texts(config, ""):
        if bad := next(filter(_is_refused, text), None):
            begins = _shown(masked(text)[:40])
            raise ConfigError(
                f"{_shown(key)} must not hold control characters, but got U+{ord(bad):04X} in {begins!r}; remove it"
            )


def _is_refused(character: str) -> bool:
    # Only what is not printable can be one of them; this spares the look-up for almost all.
    if character.isprintable() or character in _WHITE:
        return False
    return character in _REORDERING or unicodedata.category(character) in ("Cc", "Cs")


def _texts(node: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, Mapping):
        for name, value in node.items():
            below = f"{key}.{name}" if key else str(name)
            yield below, str(name)
            yield from _texts(value, below)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _texts(value, key)
    elif isinstance(node, str):
        yield key, node


def _shown(text: str) -> str:
    return "".join("?" if _is_refused(character) else character for character in text)
