"""How large a benchmark is: a constant in the code, which an environment variable shrinks for a trial."""

from __future__ import annotations

import os


def size(name: str, usual: int) -> int:
    """`usual`, or what the environment variable `name` says."""
    return int(os.environ.get(name, usual))
