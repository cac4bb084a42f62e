"""Text from elsewhere, made safe to print. On its own, so that a mistake is told without importing the report."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text with a space for every control character; columns stay as they are."""
    return "".join(c if c.isprintable() else " " for c in text)
