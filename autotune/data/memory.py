"""How much memory there is, so that a dataset too large is one line and not a killed process."""

from __future__ import annotations

from pathlib import Path

from autotune.errors import DataError
from autotune.hardware.cgroup import memory_left_bytes

GB = 1e9


def available_bytes(root: Path = Path("/")) -> int | None:
    """Memory that can still be had here, in bytes; None where the system does not say.

    The smaller of what Linux calls available and what the control group (a container's limit)
    has left. Source: proc(5), `MemAvailable`.

    Args:
        root: where `/proc` and `/sys` are; tests point it at a made-up tree.
    """
    known = (_machine_bytes(root), memory_left_bytes(root))
    return min((size for size in known if size is not None), default=None)


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


def _machine_bytes(root: Path) -> int | None:
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    # The file counts in KiB.
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
