"""CPU quota and memory limit of the container, and what both took (Linux control groups, versions 1 and 2).

A limit may be set on any ancestor, so the tightest on the way up to the root counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Limits", "memory_left_bytes", "oom_kills", "read_limits", "throttled_s", "throttling_files"]

_MB = 2**20
# Version 1 writes "no limit" as the largest page-aligned 63-bit number; no machine has half of it.
_NO_LIMIT_BYTES = 2**62
# Limit and use of a group, in versions 2 and 1.
_MEMORY_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
# Fields of cpu.stat, with their unit: version 2 (cgroup-v2.rst) and version 1 (sched-bwc.rst) of the kernel's manual.
_THROTTLED = {"throttled_usec": 1e-6, "throttled_time": 1e-9}


@dataclass(frozen=True, slots=True)
class Limits:
    """None where there is no limit. `cpu_quota_cores` may be a fraction."""

    cpu_quota_cores: float | None = None
    memory_limit_mb: float | None = None


def read_limits(root: Path = Path("/")) -> Limits:
    """The limits of this process's own group.

    Args:
        root: where `proc` and `sys` are found, another folder in tests.
    """
    quotas = []
    limits_mb = []
    for folder in _folders(root):
        quotas.append(_quota_v2(folder))
        quotas.append(_quota_v1(folder))
        limits_mb.append(_bytes_mb(folder / "memory.max"))
        limits_mb.append(_bytes_mb(folder / "memory.limit_in_bytes"))
    return Limits(_tightest(quotas), _tightest(limits_mb))


def memory_left_bytes(root: Path = Path("/")) -> int | None:
    """Memory that this process's group and all above it may still take; None where there is no limit.

    Cached file pages count as used although the kernel gives them back (`inactive_file` in memory.stat).

    Args:
        root: as for `read_limits`.
    """
    left = (_left_bytes(folder, *names) for folder in _folders(root) for names in _MEMORY_FILES)
    return min((size for size in left if size is not None), default=None)


def _left_bytes(folder: Path, limit_name: str, used_name: str) -> int | None:
    limit, used = (_read(folder / name) or "" for name in (limit_name, used_name))
    if not limit.isdecimal() or not used.isdecimal() or int(limit) >= _NO_LIMIT_BYTES:
        return None
    counts = dict(line.split(" ", 1) for line in (_read(folder / "memory.stat") or "").splitlines() if " " in line)
    # Version 1 counts a group alone, and with those below it, as its usage does, under another name.
    cached = counts.get("total_inactive_file", counts.get("inactive_file", "0"))
    return max(0, int(limit) - int(used) + (int(cached) if cached.isdecimal() else 0))


def throttling_files(root: Path = Path("/")) -> tuple[Path, ...]:
    """Files that count what CPU quotas took from this process's group and from all above it; for `throttled_s`.

    Args:
        root: as for `read_limits`.
    """
    # One tree of version 1 has a name for each of its controllers, and a link under each.
    files = {(folder / "cpu.stat").resolve() for folder in _folders(root)}
    return tuple(sorted(path for path in files if _throttled_s(path) is not None))


def throttled_s(files: Sequence[Path]) -> float | None:
    """Time for which CPU quotas held the group back so far, summed over cores [s]; None if the kernel does not tell.

    Each level counts what its own quota took, from all processes below it, and counts it when it lets them go on.
    """
    counts = [_throttled_s(path) for path in files]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _throttled_s(path: Path) -> float | None:
    for line in (_read(path) or "").splitlines():
        field, _, value = line.partition(" ")
        if field in _THROTTLED and value.isdecimal():
            return int(value) * _THROTTLED[field]
    return None


def oom_kills(root: Path = Path("/")) -> int | None:
    """Processes of this group that the kernel's out-of-memory killer has ended so far; None if it does not tell.

    A kill counts where its victim was, whichever limit was reached, the machine's own among them: `oom_kill` in
    memory.events (version 2) or memory.oom_control (version 1); without a group of its own, the machine's count in
    /proc/vmstat. `memory.failcnt` says nothing: it rises whenever the kernel takes back cached files.

    Args:
        root: as for `read_limits`.
    """
    names = ("memory.events", "memory.oom_control")
    files = [folder / name for folder in _folders(root) for name in names] + [root / "proc/vmstat"]
    return next((count for path in files if (count := _oom_kill(path)) is not None), None)


def _oom_kill(path: Path) -> int | None:
    for line in (_read(path) or "").splitlines():
        field, _, value = line.partition(" ")
        if field == "oom_kill" and value.isdecimal():
            return int(value)
    return None


def _folders(root: Path) -> Iterator[Path]:
    """Every folder that may limit this process: its groups and all above them.

    In a container /proc/self/cgroup often holds the host's path and only the mount itself exists,
    so folders that are not there are simply passed over.
    """
    mount = root / "sys/fs/cgroup"
    text = _read(root / "proc/self/cgroup") or "0::/\n1:cpu,memory:/"  # without it, what is mounted
    for line in text.splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        parts = [part for part in path.split("/") if part not in ("", "..")]
        # Version 2 has one tree; version 1 one for each set of controllers, such as "cpu,cpuacct".
        for tree in {controllers, *controllers.split(",")}:
            for length in range(len(parts), -1, -1):
                yield mount.joinpath(tree, *parts[:length])


def _quota_v2(folder: Path) -> float | None:
    """`cpu.max` is "quota period" in microseconds, or "max period"."""
    quota, _, period = (_read(folder / "cpu.max") or "").partition(" ")
    return _ratio(quota, period)


def _quota_v1(folder: Path) -> float | None:
    """A quota of -1 is none."""
    quota = _read(folder / "cpu.cfs_quota_us") or ""
    return _ratio(quota, _read(folder / "cpu.cfs_period_us") or "")


def _ratio(quota: str, period: str) -> float | None:
    if not quota.isdecimal() or not period.isdecimal() or int(quota) == 0 or int(period) == 0:
        return None
    return int(quota) / int(period)


def _bytes_mb(path: Path) -> float | None:
    text = _read(path) or ""
    if not text.isdecimal() or int(text) >= _NO_LIMIT_BYTES:
        return None
    return int(text) / _MB


def _tightest(values: list[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
