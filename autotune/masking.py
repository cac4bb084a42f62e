"""Credentials hidden in all that is shown or kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

HIDDEN = "***"
"""Stands for a secret in all that is shown or kept."""

# What stands between `://` and the last `@` of an address's authority.
_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s]*@")
# The same with characters in the password that should have been escaped; `:5000/` begins a port and no password.
_RAW_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s:@\[]*:(?!\d*(?:[/?#\s]|$))(?:(?!://)[^\n])*@")
_PARAMETER = re.compile(r"[?&;#]([^?&;#=\s]+)=")
_VALUE = re.compile(r"[^&\s]*")
# Parts of the names that databases, clouds and proxies have for secrets; ODBC's holds a whole connection.
_SECRET_NAMES = ("pass", "pwd", "secret", "token", "key", "sig", "auth", "cred", "session", "odbc_connect")


def masked(text: str) -> str:
    """The text with the credentials of every address in it hidden; in doubt more than needs to be."""
    text = _CREDENTIALS.sub(f"{HIDDEN}@", text)
    text = _RAW_CREDENTIALS.sub(f"{HIDDEN}@", text)
    return _mask_parameters(text)


def masked_values(value: Any) -> Any:
    """The same in every text of plain values: a line of YAML may be folded or quoted in the middle of an address."""
    if isinstance(value, Mapping):
        return {key: masked_values(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [masked_values(entry) for entry in value]
    return masked(value) if isinstance(value, str) else value


def _mask_parameters(text: str) -> str:
    parts, position = [], 0
    for found in _PARAMETER.finditer(text):
        name = unquote(found[1]).casefold()
        if found.start() < position or not any(part in name for part in _SECRET_NAMES):
            continue
        parts += [text[position : found.end()], HIDDEN]
        value = _VALUE.match(text, found.end())
        assert value is not None  # it may be empty
        position = value.end()
    return "".join([*parts, text[position:]])
