"""What a worker says of its data and of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """What the worker says about the data it loaded; sizes in examples.

    Attributes:
        stand_in: why this is not the data that was asked for, or `None` if it is.
        origin: where it was read from.
        fingerprint: digest of contents and split.
        majority: share of the most frequent label in the validation part; `None` for a regression and in records of
            before it was counted.
    """

    name: str
    train: int
    validation: int
    test: int
    input_shape: tuple[int, ...]
    num_classes: int | None
    origin: str
    fingerprint: str
    stand_in: str | None = None
    notes: tuple[str, ...] = ()
    majority: float | None = None


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What the worker says about itself once the framework is imported.

    Attributes:
        accelerator: `GPU`, `TPU` or `CPU`: what models are placed on.
        devices: the framework's device list, with what it says of each.
        intra_op_threads: threads within one operation, as in force (0: the framework's choice, one per core).
        inter_op_threads: operations run at once, as in force.
        versions: package name to version.
        environment: variables that were set for the worker and change what is measured.
    """

    accelerator: str
    devices: tuple[dict[str, Any], ...]
    intra_op_threads: int
    inter_op_threads: int
    onednn: bool | None
    tf32: bool | None
    versions: dict[str, str]
    environment: dict[str, str]
    import_s: float
    pid: int
