"""A full disk. Read by workers too, so it imports nothing heavy."""

from __future__ import annotations

import contextlib
from pathlib import Path

_NAME = "ballast"


def fill(place: Path) -> None:
    """Leave no room on a file system."""
    with (place / _NAME).open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def make_room(place: Path) -> None:
    """Take away what `fill` put there."""
    (place / _NAME).unlink()
