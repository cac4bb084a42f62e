"""Checks what a data source returned, so that a wrong array is one line and not a trace later.

A person's own source is called by this code; everything it can get wrong is named here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from autotune.data.dataset import Array, Loaded, LoadedData, Pair
from autotune.errors import DataError

MIN_TRAIN_EXAMPLES = 10
"""Fewer cannot be split into a training and a validation part that mean anything."""

# Whole numbers of which each comes so often, on average, are rather labels than counts.
_EXAMPLES_A_LABEL = 10

RETURNS = (
    "((x_train, y_train), (x_test, y_test)), the same with (x_val, y_val) in the middle, or an autotune.data.LoadedData"
)


def as_loaded(returned: Loaded | Any) -> LoadedData:
    """Brings what a source returned into one form, with `y` of shape (n,), and checks it.

    Raises:
        DataError: it is not what the contract in `autotune.data` says.
    """
    loaded = returned if isinstance(returned, LoadedData) else _from_pairs(returned)
    if not isinstance(loaded.stand_in, str | None):
        raise DataError(f"stand_in must be the reason why it is one, as text, or None, but got {loaded.stand_in!r}.")
    checked = {name: _checked_pair(name, pair) for name, pair in _named(loaded)}
    for name, pair in checked.items():
        _require_like_train(name, pair, checked["train"])
    if "validation" in checked and _same_examples(checked["validation"], checked["test"]):
        raise DataError(
            "the validation part must not be the test part, but x_validation equals x_test: the search would choose by"
            " what it is to be judged on; leave it out to have one split off the training part."
        )
    if len(checked["train"][1]) < MIN_TRAIN_EXAMPLES:
        raise DataError(
            f"the training part needs at least {MIN_TRAIN_EXAMPLES} examples, but got {len(checked['train'][1])}."
        )
    return LoadedData(
        train=checked["train"],
        test=checked["test"],
        validation=checked.get("validation"),
        stand_in=loaded.stand_in,
        origin=loaded.origin,
        num_classes=loaded.num_classes,
    )


def class_count(loaded: LoadedData, declared: int | None) -> int | None:
    """Number of classes, or None for regression; checks every label against it.

    Args:
        loaded: the checked arrays.
        declared: `data.num_classes` of the configuration.

    Raises:
        DataError: labels that are not whole numbers, out of range, or at odds with the declaration.
    """
    if declared and loaded.num_classes and declared != loaded.num_classes:
        raise DataError(
            f"data.num_classes is {declared}, but the source has {loaded.num_classes} classes; "
            "leave data.num_classes out."
        )
    known = declared or loaded.num_classes
    kinds = {name: pair[1].dtype.kind for name, pair in _named(loaded)}
    if all(kind == "f" for kind in kinds.values()) and known is None:
        return None
    for name, kind in kinds.items():
        if kind not in "iu":
            raise DataError(
                f"y_{name} must hold class labels as integers, but got "
                f"{dict(_named(loaded))[name][1].dtype}; convert it with astype('int64'), or for "
                "regression give floats in every part and no num_classes."
            )
    count = known if known is not None else _inferred_classes(loaded.train[1])
    for name, (_, y) in _named(loaded):
        if int(y.min()) < 0 or int(y.max()) >= count:
            raise DataError(
                f"labels must be 0 to {count - 1} ({count} classes), but got {int(y.min())} to "
                f"{int(y.max())} in y_{name}; number the classes from 0, or set data.num_classes."
            )
    return count


def looks_like_labels(y: Array) -> bool:
    """Whether floating targets (n,) are few whole numbers from 0 on, as class labels read from a table often are."""
    values = np.unique(y)
    return len(values) * _EXAMPLES_A_LABEL <= len(y) and values.tolist() == list(range(len(values)))


def require_finite(name: str, array: Array) -> None:
    """Raises DataError if an array, such as x_train, holds NaN or infinity."""
    if not np.isfinite(array).all():
        raise DataError(f"{name} must be finite, but holds NaN or infinity (float32); clean the data first.")


def _named(loaded: LoadedData) -> Iterator[tuple[str, Pair]]:
    yield "train", loaded.train
    if loaded.validation is not None:
        yield "validation", loaded.validation
    yield "test", loaded.test


def _from_pairs(returned: Any) -> LoadedData:
    if not isinstance(returned, (tuple, list)):
        raise DataError(f"a data source must return {RETURNS}, but got {type(returned).__name__}.")
    if len(returned) == 1:
        raise DataError(f"the data source returned no test part; it must return {RETURNS}.")
    if len(returned) not in (2, 3):
        raise DataError(f"a data source must return {RETURNS}, but got {len(returned)} items.")
    return LoadedData(
        train=returned[0],
        test=returned[-1],
        validation=returned[1] if len(returned) == 3 else None,
    )


def _checked_pair(name: str, pair: Any) -> Pair:
    if pair is None or not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise DataError(
            f"the {name} part must be a pair (x, y), but got {_describe(pair)}; a data source returns {RETURNS}."
        )
    x, y = pair
    for letter, array in (("x", x), ("y", y)):
        if not isinstance(array, np.ndarray):
            raise DataError(
                f"{letter}_{name} must be a numpy array, but got {_describe(array)}; convert it with numpy.asarray."
            )
    if x.dtype != np.uint8 and x.dtype.kind != "f":
        raise DataError(
            f"x_{name} must be uint8 (scaled to [0, 1] for you) or floating, but got {x.dtype}; convert it with astype."
        )
    if x.ndim < 2 or 0 in x.shape[1:]:
        raise DataError(f"x_{name} must have shape (examples, ...) with at least one feature, but got {x.shape}.")
    y = _checked_targets(name, y)
    if len(x) != len(y):
        raise DataError(f"x_{name} and y_{name} must have one length, but got {len(x)} and {len(y)}.")
    if len(y) == 0:
        raise DataError(f"the {name} part must hold examples, but it is empty.")
    return x, y


def _checked_targets(name: str, y: Array) -> Array:
    if y.dtype.kind not in "iuf":
        raise DataError(f"y_{name} must be integers (class labels) or floats (regression), but got {y.dtype}.")
    if y.ndim == 2 and y.shape[1] == 1:  # the shape of keras.datasets.cifar10
        y = y[:, 0]
    if y.ndim != 1:
        one_hot = y.ndim == 2 and np.isin(y, (0, 1)).all() and (y.sum(axis=1) == 1).all()
        advice = "turn one-hot rows into labels with argmax(axis=1)" if one_hot else "give one target an example"
        raise DataError(f"y_{name} must have shape (examples,), but got {y.shape}; {advice}.")
    if y.dtype.kind == "f":
        with np.errstate(over="ignore"):  # what is infinite in float32 is not finite
            require_finite(f"y_{name}", y.astype(np.float32))
    return y


def _require_like_train(name: str, pair: Pair, train: Pair) -> None:
    for letter, array, like in (("x", pair[0], train[0]), ("y", pair[1], train[1])):
        if array.shape[1:] != like.shape[1:]:
            raise DataError(
                f"examples of all parts must have one shape, but got {array.shape[1:]} in "
                f"{letter}_{name} and {like.shape[1:]} in {letter}_train."
            )
        if letter == "x" and (array.dtype == np.uint8) != (like.dtype == np.uint8):
            raise DataError(
                f"x must be uint8 in all parts or in none, but got {array.dtype} in x_{name} and "
                f"{like.dtype} in x_train: they would be scaled differently."
            )
    if name != "train" and _same_examples(pair, train):
        raise DataError(f"the {name} part must not be the training part, but x_{name} equals x_train.")


def _same_examples(one: Pair, other: Pair) -> bool:
    return len(one[0]) == len(other[0]) and np.array_equal(one[0], other[0])


def _inferred_classes(y_train: Array) -> int:
    count = max(int(y_train.max()) + 1, 0)
    if count < 2:
        raise DataError(
            f"class labels must be of at least two classes from 0 on, but y_train holds "
            f"{int(y_train.min())} to {int(y_train.max())}."
        )
    if count > len(y_train):
        raise DataError(
            f"y_train holds integers up to {count - 1} in {len(y_train)} examples, which are "
            "hardly class labels; give floats for regression, or set data.num_classes."
        )
    return count


def _describe(value: Any) -> str:
    return str(value.dtype) + " array" if isinstance(value, np.ndarray) else type(value).__name__
