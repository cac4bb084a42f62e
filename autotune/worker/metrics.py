"""Metrics on whole parts of the data, in float32 or better, never under a dtype policy.

A person's own metric has the same form: `metric(y_true, y_pred, **args) -> float`, with `y_true` of shape (examples,)
and `y_pred` the model's float32 output of shape (examples, ...), both numpy arrays. It must return one number. An
output of one column comes as (examples,), like the targets.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

ACCURACY = "autotune.worker.metrics.accuracy"
"""The dotted name of `accuracy`, the default of `constraint._target_`."""

ERROR_RATE = "autotune.worker.metrics.error_rate"
"""The dotted name of `error_rate`, of `constraint=error`."""


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
    _require_scores(y_true, y_pred)
    right: NDArray[np.bool_] = (np.argmax(y_pred, axis=1) == y_true) & np.isfinite(y_pred).all(axis=1)
    return right


def _require_scores(y_true: NDArray[Any], y_pred: NDArray[Any]) -> None:
    # The largest of a single column is always the first: every candidate would be as accurate as the baseline.
    if y_pred.ndim != 2 or len(y_pred) != len(y_true) or y_pred.shape[1] < 2:
        raise ValueError(
            f"a metric of class labels needs outputs of shape ({len(y_true)}, classes) with two classes or more, but"
            f" got {y_pred.shape}"
        )


def packed_right(y_true: NDArray[Any], y_pred: NDArray[Any]) -> str | None:
    """`correct` as one bit an example, by `numpy.packbits`, in base64; None where outputs are no scores of classes.

    `autotune.decide.sampling` reads it.
    """
    if y_pred.ndim != 2 or y_pred.shape[1] < 2:
        return None
    return base64.b64encode(np.packbits(correct(y_true, y_pred)).tobytes()).decode("ascii")


def error_rate(y_true: NDArray[Any], y_pred: NDArray[Any]) -> float:
    """1 - `accuracy`: lower is better. Arguments and errors are those of `accuracy`."""
    return float(np.mean(~correct(y_true, y_pred)))


# Keras's own floor of a probability: a softmax in float32 is exactly zero below 1e-45, and one such example would make
# the mean infinite.
_LEAST_PROBABILITY = 1e-7

# What float32 rounding, or a softmax in 16 bit before the cast, may add to a probability.
_ROUNDING = 1e-2


def cross_entropy(y_true: NDArray[Any], y_pred: NDArray[Any], *, from_logits: bool = False) -> float:
    """Mean -log of the probability that the label is given [nat]; lower is better. Computed in float64.

    Args:
        y_true: integer labels, shape (examples,).
        y_pred: shape (examples, classes): probabilities, normalised here and never taken as less than 1e-7, as Keras
            does; or the logits of a softmax.
        from_logits: which of the two.

    Raises:
        ValueError: the shapes do not fit, or outputs that should be probabilities are not.
    """
    _require_scores(y_true, y_pred)
    scores = y_pred.astype(np.float64)
    rows = np.arange(len(scores))
    if from_logits:
        highest = scores.max(axis=1)
        log_total = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
        return float(np.mean(log_total - scores[rows, y_true]))
    if scores.min() < 0 or scores.max() > 1 + _ROUNDING:
        raise ValueError(
            f"cross entropy needs probabilities, but got outputs from {scores.min():g} to {scores.max():g}; if they"
            " are logits, set constraint.args.from_logits=true"
        )
    likelihood = scores[rows, y_true] / np.maximum(scores.sum(axis=1), _LEAST_PROBABILITY)
    return float(np.mean(-np.log(np.clip(likelihood, _LEAST_PROBABILITY, 1.0))))


def mean_absolute_error(y_true: NDArray[Any], y_pred: NDArray[Any]) -> float:
    """Mean |y - prediction| for a regression with one output, in the target's own unit; lower is better."""
    return float(np.mean(np.abs(y_true.astype(np.float64) - y_pred.reshape(len(y_true)).astype(np.float64))))
