"""How a benchmark prints its figures: a table, and under it what they were measured on."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from datetime import datetime

from autotune.hardware.host import read_host
from autotune.trial import Interval


def with_bounds(interval: Interval) -> str:
    """A ratio with its interval, such as `0.98 [0.96, 1.01]`."""
    return f"{interval.estimate:.3g} [{interval.low:.3g}, {interval.high:.3g}]"


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], device: str) -> None:
    """Print columns as wide as they need, the first one to the left, and the device, versions, load and date."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    print(f"\n\n{title}")
    for row in (head, *rows):
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *cells]))
    print(f"{device}; {_versions()}; {datetime.now().astimezone():%Y-%m-%d}")
    print(f"load average over the last minute: {read_host().load_average_1m} (figures of a busy machine are wide)")


def cpu() -> str:
    """The CPU and the cores that this process may use."""
    host = read_host()
    return f"{host.cpu_model or host.machine}, {host.usable_cores or '?'} cores"


def _versions() -> str:
    packages = ("tensorflow", "keras", "numpy", "hydra-core")
    python = f"Python {read_host().python_version}"
    return ", ".join([python, *(f"{name} {importlib.metadata.version(name)}" for name in packages)])
