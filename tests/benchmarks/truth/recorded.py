"""Recorded noise: real blocks of the baseline against itself, on a named machine, for tests that replay them.

A test on real timings flakes on a busy machine; one on made-up noise proves nothing of real noise. So the comparisons
of `test_aa.py` are kept: `TRUTH_RECORD=1 make bench-truth` writes a file for this machine and day, and the tests read
every file that is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from autotune import codec
from autotune.hardware.host import read_host
from autotune.trial import Probe
from tests.benchmarks.truth.miniature import Pairs, Process

FORMAT = 1
FOLDER = Path(__file__).with_name("noise")

_DIGITS = 4  # significant ones: a rounding error of 0.005 % at most


@dataclass(frozen=True, slots=True)
class Noise:
    """What was recorded, where and with what.

    Attributes:
        recorded: the day, as 2026-11-30.
        machine: CPU model; cores: those that could be used.
        setting: model, batch and length of a block, for a reader.
        versions: of the packages that measured.
        processes: in the order of time.
    """

    format: int
    recorded: str
    machine: str
    cores: float | None
    setting: str
    versions: dict[str, str]
    processes: tuple[Process, ...]

    def of(self, *, loaded: bool) -> tuple[Process, ...]:
        """The processes that ran with or without a load beside them."""
        return tuple(process for process in self.processes if process.loaded is loaded)


def recordings() -> list[Path]:
    """Every file of recorded noise."""
    return sorted(FOLDER.glob("*.json"))


def read(path: Path) -> Noise:
    """What `write` was given.

    Raises:
        ValueError: another format.
    """
    noise = codec.loads(Noise, path.read_text(encoding="utf-8"))
    if noise.format != FORMAT:
        raise ValueError(f"{path.name} has format {noise.format}, but {FORMAT} is read; record it anew")
    return noise


def write(processes: Sequence[Process], setting: str, versions: dict[str, str], folder: Path = FOLDER) -> Path:
    """Record processes of this machine; one line a process, so that a difference can be read."""
    host = read_host()
    machine = host.cpu_model or host.machine
    today = f"{datetime.now().astimezone():%Y-%m-%d}"
    head = codec.plain(Noise(FORMAT, today, machine, host.usable_cores, setting, versions, ()))
    del head["processes"]
    lines = ",\n".join(json.dumps(_rounded(codec.plain(process)), separators=(",", ":")) for process in processes)
    name = re.sub(r"[^a-z0-9]+", "-", f"{machine} {host.usable_cores:g} cores {today}".lower())
    path = folder / f"{name}.json"
    path.write_text(f'{json.dumps(head)[:-1]}, "processes": [\n{lines}\n]}}\n', encoding="utf-8")
    return path


def _rounded(plain: Any) -> Any:
    if isinstance(plain, float):
        return float(f"{plain:.{_DIGITS}g}")
    if isinstance(plain, dict):
        return {key: _rounded(value) for key, value in plain.items()}
    return [_rounded(value) for value in plain] if isinstance(plain, list | tuple) else plain


def pairs_of(probe: Probe) -> Pairs:
    """The blocks of a paired probe."""
    return Pairs(probe.block_step_ms, probe.baseline_step_ms)
