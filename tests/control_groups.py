"""A control group with a real limit on memory, where one can be made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def limited_group(most_bytes: int) -> Iterator[Path]:
    """The folder of a group below this process's own, of either version; skips the test where there is none."""
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        folder = Path("/sys/fs/cgroup", controllers, path.lstrip("/"), f"autotune-test-{os.getpid()}")
        limit = folder / ("memory.max" if controllers == "" else "memory.limit_in_bytes")
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            try:
                limit.write_text(str(most_bytes), encoding="ascii")
            except OSError:
                continue
            yield folder
            return
        finally:
            folder.rmdir()
    pytest.skip("no control group with a limit on memory can be made here")
