"""How much memory there is, so that a dataset too large is one line and not a killed process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autotune.errors import DataError

GB = 1e9
_UNLIMITED = 1 << 60
"""Control groups write a huge number for "no limit"; no machine has an exabyte."""


def available_bytes(root: Path = Path("/")) -> int | None:
    """Memory that can still be had here, in bytes; None where the system does not say.

    The smaller of what Linux calls available and what the control group (a container's limit)
    has left. Sources: proc(5), `MemAvailable`; the kernel's cgroup-v2 and memory (v1) documents.

    Args:
        root: where `/proc` and `/sys` are; tests point it at a made-up tree.
    """
    return min(_limits(root), default=None)


def require_memory(needed_bytes: int, what: str, max_memory_gb: float | None = None, root: Path = Path("/")) -> None:
    """Raises DataError if `needed_bytes` are more than allowed, or than the machine has left.

    Args:
        needed_bytes: memory about to be taken.
        what: what needs it, for the message.
        max_memory_gb: `data.max_memory_gb`; None asks the machine.
        root: as in `available_bytes`.
    """
    if max_memory_gb is not None:
        if needed_bytes > max_memory_gb * GB:
            raise DataError(
                f"{what} needs {needed_bytes / GB:.2f} GB, but data.max_memory_gb is "
                f"{max_memory_gb:g}; raise it, or use fewer examples."
            )
        return
    available = available_bytes(root)
    if available is not None and needed_bytes > available:
        raise DataError(
            f"{what} needs {needed_bytes / GB:.2f} GB of memory, but {available / GB:.2f} GB are "
            "available; use fewer examples, or set data.max_memory_gb to go on regardless."
        )


def _limits(root: Path) -> Iterator[int]:
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024  # the file counts in KiB
    for folder, limit_name, used_name in (
        ("sys/fs/cgroup", "memory.max", "memory.current"),
        ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        limit = _text(root / folder / limit_name).strip()
        used = _text(root / folder / used_name).strip()
        if limit.isdigit() and used.isdigit() and int(limit) < _UNLIMITED:
            # Cached file pages count as used although the kernel gives them back.
            reclaimable = _inactive_file_bytes(root / folder / "memory.stat")
            yield max(int(limit) - int(used) + reclaimable, 0)


def _inactive_file_bytes(path: Path) -> int:
    for line in _text(path).splitlines():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
