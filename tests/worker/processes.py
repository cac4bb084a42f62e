"""Looking at processes from outside."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

import psutil


def gone(pid: int) -> bool:
    """Whether a process ends soon; one that its new parent has not reaped yet has ended."""
    return soon(lambda: not lives(pid))


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def members(group: int) -> list[int]:
    """Living processes of a group."""
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(pid) == group and lives(pid):
                found.append(pid)
    return found


def soon(condition: Callable[[], bool], within_s: float = 10.0) -> bool:
    """A killed process takes a moment to die."""
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()
