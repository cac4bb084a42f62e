"""Metrics on whole parts of the data, in float32 or better, never under a dtype policy.

A person's own metric has the same form: `metric(y_true, y_pred, **args) -> float`, with `y_true` of shape (examples,)
and `y_pred` the model's float32 output of shape (examples, ...), both numpy arrays. It must return one number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ACCURACY = "autotune.worker.metrics.accuracy"
"""The dotted name of `accuracy`, the default of `constraint._target_`."""


def accuracy(y_true: NDArray[Any], y_pred: NDArray[Any]) -> float:
    """Share of examples whose largest output is the label's; outputs that are not finite are wrong.

    Args:
        y_true: integer labels, shape (examples,).
        y_pred: scores, shape (examples, classes), one column a class also where there are two.

    Raises:
        ValueError: the shapes do not fit.
    """
    return float(np.mean(correct(y_true, y_pred)))


def correct(y_true: NDArray[Any], y_pred: NDArray[Any]) -> NDArray[np.bool_]:
    """Which examples are right; an example with an output that is not finite is wrong. Shape (examples,)."""
    # The largest of a single column is always the first: every candidate would be as accurate as the baseline.
    if y_pred.ndim != 2 or len(y_pred) != len(y_true) or y_pred.shape[1] < 2:
        raise ValueError(
            f"accuracy needs outputs of shape ({len(y_true)}, classes) with two classes or more, but got {y_pred.shape}"
        )
    right: NDArray[np.bool_] = (np.argmax(y_pred, axis=1) == y_true) & np.isfinite(y_pred).all(axis=1)
    return right


def mean_absolute_error(y_true: NDArray[Any], y_pred: NDArray[Any]) -> float:
    """Mean |y - prediction| for a regression with one output, in the target's own unit; lower is better."""
    return float(np.mean(np.abs(y_true.astype(np.float64) - y_pred.reshape(len(y_true)).astype(np.float64))))
