"""How much memory a piece of code takes at its height, by Python's own and numpy's count."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def takes_at_most(megabytes: float) -> Iterator[None]:
    """Fail if more is taken at any moment within; it takes its toll in speed, so keep it around little."""
    tracemalloc.start()
    try:
        yield
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < megabytes * 1e6, f"{peak_bytes / 1e6:.1f} MB"
