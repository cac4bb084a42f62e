"""Which faults a rehearsed study meets, and where: read by its workers, which come and go."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "faults.json"
_MET = "faults.met"


@dataclass(frozen=True)
class Planned:
    """One fault.

    Attributes:
        place: an operation with its stage, such as `probe.screen`, `train.baseline` or `export`.
        kind: a method of `tests.faults.kinds.Kinds`.
        batch: of the candidate that meets it; None: whichever comes.
        times: how often it happens; None: whenever it is asked for.
    """

    place: str
    kind: str
    batch: int | None = None
    times: int | None = None


def plan(folder: Path, faults: Iterable[Planned]) -> None:
    """Write down what is to happen in studies that are started in this folder."""
    (folder / FILE).write_text(json.dumps([asdict(fault) for fault in faults]), encoding="utf-8")
    (folder / _MET).unlink(missing_ok=True)


def met(folder: Path) -> list[Planned]:
    """What has happened, in its order."""
    faults = _read(folder)
    return [faults[number] for number in _numbers(folder)]


def due(folder: Path, place: str, batch: int | None) -> str | None:
    """The kind of fault that happens now, which is noted before it does; None: all is well."""
    for number, fault in enumerate(_read(folder)):
        if fault.place != place or fault.batch not in (None, batch):
            continue
        if fault.times is not None and _numbers(folder).count(number) >= fault.times:
            continue
        _note(folder, number)
        return fault.kind
    return None


def _read(folder: Path) -> list[Planned]:
    path = folder / FILE
    return [Planned(**fault) for fault in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def _numbers(folder: Path) -> list[int]:
    path = folder / _MET
    return [int(line) for line in path.read_text(encoding="utf-8").split()] if path.exists() else []


def _note(folder: Path, number: int) -> None:
    file = os.open(folder / _MET, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(file, f"{number}\n".encode())
    os.close(file)
