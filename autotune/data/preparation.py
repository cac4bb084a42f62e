"""From what a source returned to three disjoint float32 parts.

Scaling and casting happen here, on the host and in float32, whatever the dtype policy: a policy
must not decide how images are rounded.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from autotune.config.data import DataConfig
from autotune.data.contract import as_loaded, class_count, looks_like_labels, require_finite
from autotune.data.dataset import ALIGNMENT, Array, Dataset, Loaded, LoadedData, Pair, Part
from autotune.data.memory import require_memory
from autotune.data.split import Indices, held_out, remaining, validation_size
from autotune.errors import DataError

MIN_VALIDATION_EXAMPLES = 2
"""The sampling error of a difference is not known from fewer."""

_CHUNK_BYTES = 8 << 20
"""Conversion goes in pieces of about this size, so that no second copy of a part ever exists."""


def prepare(loaded: Loaded, config: DataConfig) -> Dataset:
    """Checks, splits and converts what a source returned.

    Args:
        loaded: `LoadedData`, or two or three (x, y) pairs.
        config: the `data` group.

    Raises:
        DataError: the arrays are not what the contract in `autotune.data` says, or too large.
    """
    checked = as_loaded(loaded)
    num_classes = class_count(checked, config.num_classes)
    _require_memory(checked, config)
    notes = []
    held = None
    if checked.validation is None:
        size = validation_size(len(checked.train[1]), config.validation_examples)
        held = held_out(checked.train[1], size, config.split_seed, num_classes is not None)
        if len(held) != config.validation_examples:
            notes.append(_size_note(len(held), len(checked.train[1]), config.validation_examples))
    else:
        notes.append(f"the source's own validation part of {len(checked.validation[1]):,} is used")
    if num_classes is None and looks_like_labels(checked.train[1]):
        notes.append("y_train holds floats and is taken as a regression; for classes use astype('int64')")
    notes += _overlaps(checked)
    train, validation, test = _parts(checked, held, num_classes)
    if len(validation) < MIN_VALIDATION_EXAMPLES:
        raise DataError(
            f"the validation part needs at least {MIN_VALIDATION_EXAMPLES} examples, but got {len(validation)}; give"
            " more training examples of each class, a larger data.validation_examples, or a validation part of your own"
        )
    return Dataset(
        name=config.name,
        train=train,
        validation=validation,
        test=test,
        num_classes=num_classes,
        input_shape=checked.train[0].shape[1:],
        stand_in=checked.stand_in,
        origin=checked.origin or config._target_,
        fingerprint=_fingerprint(checked, held),
        notes=tuple(notes),
    )


def _parts(loaded: LoadedData, held: Indices | None, classes: int | None) -> tuple[Part, ...]:
    test = _part("test", loaded.test, None, classes)
    if loaded.validation is not None:
        train = _part("train", loaded.train, None, classes)
        return train, _part("validation", loaded.validation, None, classes), test
    assert held is not None
    kept = remaining(len(loaded.train[1]), held)
    train = _part("train", loaded.train, kept, classes)
    return train, _part("train", loaded.train, held, classes), test


def _part(name: str, pair: Pair, rows: Indices | None, classes: int | None) -> Part:
    x, y = pair
    y_dtype = np.int32 if classes is not None else np.float32
    targets = y if rows is None else y[rows]
    return Part(x=_to_float32(name, x, rows), y=np.ascontiguousarray(targets, dtype=y_dtype))


def _to_float32(name: str, x: Array, rows: Indices | None) -> npt.NDArray[np.float32]:
    count = len(x) if rows is None else len(rows)
    as_is = rows is None and _is_ready(x)
    out = x if as_is else _aligned((count, *x.shape[1:]))
    step = max(1, _CHUNK_BYTES // (x[0].size * 4))
    for start in range(0, count, step):
        piece = slice(start, start + step)
        if not as_is:
            source = x[piece] if rows is None else x[rows[piece]]
            if x.dtype == np.uint8:
                np.divide(source, np.float32(255), out=out[piece], dtype=np.float32)
            else:
                with np.errstate(over="ignore"):  # an overflow is reported as infinity, below
                    out[piece] = source
        if x.dtype != np.uint8:
            require_finite(f"x_{name}", out[piece])
    return out


def _aligned(shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """An array to be filled, which begins at a multiple of `ALIGNMENT` bytes."""
    size = math.prod(shape) * np.dtype(np.float32).itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % ALIGNMENT
    return memory[begin : begin + size].view(np.float32).reshape(shape)


def _is_ready(x: Array) -> bool:
    return x.dtype == np.float32 and x.flags.c_contiguous


def _require_memory(loaded: LoadedData, config: DataConfig) -> None:
    """A limit of the person's is on all three parts; the machine must hold what is new."""
    total = new = 0
    for pair in (loaded.train, loaded.validation, loaded.test):
        if pair is not None:
            part_bytes = pair[0].size * 4
            is_split = pair is loaded.train and loaded.validation is None
            total += part_bytes
            new += part_bytes if is_split or not _is_ready(pair[0]) else 0
    limit_gb = config.max_memory_gb
    require_memory(new if limit_gb is None else total, f"dataset {config.name}", limit_gb)


def _size_note(size: int, examples: int, wanted: int) -> str:
    return (
        f"the validation part is {size:,} examples, not the {wanted:,} asked for: "
        f"the training data has only {examples:,}"
    )


def _overlaps(loaded: LoadedData) -> Iterator[str]:
    """A sentence for each two parts that the source gave and that share examples."""
    rows = {"training data": _hashes(loaded.train), "test part": _hashes(loaded.test)}
    compared = [("test", rows["test part"], "training data")]
    if loaded.validation is not None:
        own = _hashes(loaded.validation)
        compared += [("validation", own, where) for where in rows]
    for name, examples, where in compared:
        seen = set(rows[where])
        if shared := sum(example in seen for example in examples):
            yield f"{shared:,} of {len(examples):,} {name} examples also occur in the {where}"


def _hashes(pair: Pair) -> list[int]:
    return [hash(row.tobytes()) for row in pair[0]]


def _fingerprint(loaded: LoadedData, held: Indices | None) -> str:
    digest = hashlib.sha256()
    for name in ("train", "validation", "test"):
        pair = getattr(loaded, name)
        if pair is None:
            continue
        for array in pair:
            digest.update(f"{name} {array.shape} {array.dtype.str}\n".encode())
            digest.update(np.ascontiguousarray(array).data)
    if held is not None:
        digest.update(held.astype("<i8").tobytes())
    return digest.hexdigest()
