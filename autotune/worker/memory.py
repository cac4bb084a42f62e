"""How much memory a worker takes, with all that it has started, and when to look again.

Reading sizes is cheap, and the looks are rare while there is room: a parent that keeps looking disturbs what is timed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

# Looks are so close that a process that writes this much a second is seen before it reaches the limit [MB/s]. One
# thread fills new pages at 1 to 3 GB/s on the machines that this was tried on.
_FASTEST_MB_S = 4000.0
_RAREST_S = 0.5
_CLOSEST_S = 0.01

# Looking takes no more than this share of a core, however close the limit is.
_MOST_SHARE = 0.1

# From this share of the limit on, memory is a likely reason to have died.
_CLOSE = 0.9


class MemoryWatch:
    """Sees a worker's session grow.

    Args:
        leader_pid: the worker, which leads its session.
        limit_mb: what it may take [MB]; None is no limit.

    Attributes:
        seen_mb: what the last look found [MB]; 0 before the first.
    """

    def __init__(self, leader_pid: int, limit_mb: float | None) -> None:
        self._leader_pid = leader_pid
        self.limit_mb = limit_mb
        self.seen_mb = 0.0
        self._due_s = 0.0

    def wait_s(self) -> float:
        """Time until the next look [s]."""
        return max(0.0, self._due_s - time.monotonic()) if self.limit_mb is not None else _RAREST_S

    def exceeded(self) -> bool:
        """Whether the limit is exceeded; looks, if it is time to."""
        if self.limit_mb is None or self.wait_s() > 0:
            return False
        began_s, used_s = time.monotonic(), time.thread_time()
        found_mb = session_mb(self._leader_pid, self.limit_mb)
        if _resident_mb(self._leader_pid) > 0:  # one that has ended has no size, and what it had is what tells
            self.seen_mb = found_mb
        used_s = time.thread_time() - used_s  # on a busy machine the clock on the wall says little of what a look costs
        room_s = (self.limit_mb - self.seen_mb) / _FASTEST_MB_S
        self._due_s = began_s + max(min(room_s, _RAREST_S), _CLOSEST_S, used_s / _MOST_SHARE)
        return self.seen_mb > self.limit_mb

    def was_close(self) -> bool:
        """Whether the limit was close when last looked at."""
        return self.limit_mb is not None and self.seen_mb > _CLOSE * self.limit_mb


def session_mb(leader_pid: int, enough_mb: float | None = None) -> float:
    """Memory of all processes of a session [MB].

    The sum of resident sizes counts a page as often as processes share it. That bounds the truth from above and is
    cheap; only where it is more than `enough_mb`, pages are counted once, by their proportional share (PSS, proc(5)).
    """
    resident = {pid: _resident_mb(pid) for pid in _members(leader_pid)}
    total = sum(resident.values())
    if enough_mb is None or total <= enough_mb or len(resident) < 2:
        return total
    # Processes come and go between one reading and the next, which counts their pages twice: the lower of two is true.
    return min(_proportional_total_mb(resident) for _ in range(2))


def _proportional_total_mb(resident_mb: Mapping[int, float]) -> float:
    return sum(_proportional_mb(pid, instead=size) for pid, size in resident_mb.items())


def _members(leader_pid: int) -> list[int]:
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getsid(pid) == leader_pid:
                found.append(pid)
    return found


def _resident_mb(pid: int) -> float:
    try:
        return float(psutil.Process(pid).memory_info().rss) / 1e6
    except psutil.Error:
        return 0.0


def _proportional_mb(pid: int, instead: float) -> float:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return 0.0
    except OSError:
        return instead
    return sum(float(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) * 1024 / 1e6
