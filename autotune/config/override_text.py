"""A key and a value as an override on the command line."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[\w./:+-]*", re.ASCII)


def override(key: str, value: str) -> str:
    """The override as Hydra's grammar reads it back; a shell may need quotes around it besides."""
    if _PLAIN.fullmatch(value):
        return f"{key}={value}"
    quoted = re.sub(r"(\\*)'", r"\1\1\\'", value).replace("${", "\\${")
    return f"{key}='{quoted}'"
