"""Magnitudes on one real batch, in float32: what float16 would overflow or flush to zero."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.trial.anatomy import Numbers, Ranges, Targets
from autotune.worker.child.calls import Calls
from autotune.worker.child.dissect import ROUNDS_TO_ZERO

INITIAL_SCALE = 2.0**15  # of keras.optimizers.LossScaleOptimizer

_FEW_EXAMPLES = 4096


def targets_of(part: Any) -> Targets:
    """Of the training part."""
    x, y = np.asarray(part.x[:_FEW_EXAMPLES]), np.asarray(part.y[:_FEW_EXAMPLES])
    return Targets(
        examples=len(part),
        x_low=float(x.min()),
        x_high=float(x.max()),
        y_low=float(y.min()),
        y_high=float(y.max()),
        y_spread=float(y.std()),
        labels=y.dtype.kind in "iu",
    )


def measured(model: keras.Model, x: Any, y: Any, *, batch_size: int) -> Ranges:
    """Forward and backward of one batch through a float32 model; nothing is updated.

    Gradients are those of the compiled loss with respect to each layer's outputs and weights. A loss is the average
    over a batch, so those of outputs, which each belong to one example, are told as a batch of `batch_size` has them.
    """
    calls, less = Calls(model), len(x) / batch_size

    def once(inputs: Any, labels: Any) -> dict[str, Any]:
        calls.graph = tf.compat.v1.get_default_graph()
        with tf.GradientTape() as tape:
            outputs = model(inputs, training=True)
            loss = model.compute_loss(inputs, labels, outputs)
        owned = {
            key: ([one for one in part.outputs if one.dtype.is_floating], list(part.layer.trainable_variables))
            for key, part in calls.parts.items()
        }
        sources = {key: [*tensors, *(weight.value for weight in weights)] for key, (tensors, weights) in owned.items()}
        gradients = tape.gradient(loss, sources)
        return {
            "activations": {str(key): _told(tensors) for key, (tensors, _) in owned.items() if tensors},
            "gradients": {
                str(key): _told(present)
                for key, found in gradients.items()
                if (present := _at_batch(found, len(owned[key][0]), less))
            },
            "output": _output(keras.tree.flatten(outputs)[0]),
        }

    with calls.noted():
        found = tf.function(once, autograph=False)(tf.convert_to_tensor(x), tf.convert_to_tensor(y))
    names = {str(key): name for key, name in calls.names().items()}
    low, high, off = (_number(value) for value in found["output"].numpy())
    told = {name: {key: value.numpy() for key, value in found[name].items()} for name in ("activations", "gradients")}
    vanishing, scaled, present = (sum(float(one[place]) for one in told["gradients"].values()) for place in (1, 2, 3))
    return Ranges(
        examples=len(x),
        activations={names[key]: _numbers(value) for key, value in told["activations"].items()},
        gradients={names[key]: _numbers(value) for key, value in told["gradients"].items()},
        vanishing=vanishing / present if present else 0.0,
        vanishing_scaled=scaled / present if present else 0.0,
        scale=INITIAL_SCALE,
        output_low=low,
        output_high=high,
        output_sum_off=off,
    )


def _at_batch(gradients: list[Any], outputs: int, less: float) -> list[Any]:
    """The gradients that there are; the first belong to outputs, the others to weights."""
    return [
        _dense(one) * tf.cast(less if place < outputs else 1.0, one.dtype)
        for place, one in enumerate(gradients)
        if one is not None
    ]


def _told(tensors: list[Any]) -> Any:
    """The largest magnitude, and of the values that are not zero: how many float16 makes so, also scaled; and all."""
    flat = [tf.reshape(tf.cast(one, tf.float32), (-1,)) for one in tensors]
    size = tf.abs(flat[0] if len(flat) == 1 else tf.concat(flat, 0))
    largest = tf.reduce_max(tf.concat([size, [0.0]], 0))
    counts = [tf.math.count_nonzero((size > 0) & (size <= ROUNDS_TO_ZERO / scale)) for scale in (1.0, INITIAL_SCALE)]
    return tf.stack([largest, *(tf.cast(count, tf.float32) for count in (*counts, tf.math.count_nonzero(size > 0)))])


def _dense(value: Any) -> Any:
    """An embedding's gradient holds the rows that were looked up."""
    return value.values if isinstance(value, tf.IndexedSlices) else value


def _output(output: Any) -> Any:
    values = tf.reshape(tf.cast(output, tf.float32), (tf.shape(output)[0], -1))
    off = tf.reduce_max(tf.abs(tf.reduce_sum(values, axis=1) - 1.0))
    return tf.stack([tf.reduce_min(values), tf.reduce_max(values), off])


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(float(value)) else None


def _numbers(value: Any) -> Numbers:
    largest, vanishing, scaled, present = (float(one) for one in value)
    finite = math.isfinite(largest)
    shares = [count / present if present else 0.0 for count in (vanishing, scaled)]
    return Numbers(largest if finite else None, shares[0], finite, shares[1], int(present))
