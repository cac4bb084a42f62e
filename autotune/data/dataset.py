"""The values of the data room: what a source returns, and what training gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Pair: TypeAlias = tuple[Array, Array]
"""Examples `x` of shape (n, ...) and their targets `y` of shape (n,)."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedData:
    """What a source may return instead of bare pairs, to say more about them.

    Attributes:
        train: training pair.
        test: test pair, kept apart until the winner is evaluated.
        validation: validation pair; None lets `prepare` split one off the training pair.
        stand_in: the reason why this is NOT the data that was asked for; None when it is.
        origin: where the arrays were read from, for a person.
        num_classes: number of classes; None takes it from the labels.
    """

    train: Pair
    test: Pair
    validation: Pair | None = None
    stand_in: str | None = None
    origin: str = ""
    num_classes: int | None = None


Loaded: TypeAlias = LoadedData | Sequence[Pair]


ALIGNMENT = 64
"""Where `Part.x` begins in memory, if it was converted: at a multiple of so many bytes, the widest vector register's.

A framework needs it to take the memory as it is instead of copying all of it.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One of the three disjoint parts of a dataset.

    Attributes:
        x: float32 (n, ...); bytes have been scaled to [0, 1], floats are as they were given.
        y: int32 class labels (n,), or float32 regression targets (n,).
    """

    x: npt.NDArray[np.float32]
    y: Array

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A dataset ready for training under any dtype policy.

    Attributes:
        name: what the configuration calls it.
        train: what weights are fitted to.
        validation: what the search and the accuracy constraint look at.
        test: touched once, by the evaluation of the exported winner; never by the search.
        num_classes: number of classes; None for regression.
        input_shape: shape of one example.
        stand_in: the reason why this is NOT the data that was asked for; None when it is.
        origin: where the arrays were read from.
        fingerprint: sha256 hex over shapes, dtypes and contents of what was read, and the split:
            the same fingerprint means the same three parts.
        notes: what a person should know about the preparation, one sentence each.
    """

    name: str
    train: Part
    validation: Part
    test: Part
    num_classes: int | None
    input_shape: tuple[int, ...]
    stand_in: str | None
    origin: str
    fingerprint: str
    notes: tuple[str, ...] = ()

    @property
    def majority(self) -> float | None:
        """Share of the most frequent label in the validation part, 0 to 1; None for regression."""
        labels = self.validation.y
        return None if self.num_classes is None else int(np.bincount(labels).max()) / len(labels)
