"""A person's model of which each candidate meets another fault of the framework, done for real."""

from __future__ import annotations

NET = '''
import ctypes
import os
import time

import keras
import numpy as np
import tensorflow as tf


class Trouble(keras.layers.Layer):
    """Goes wrong by the batch that it is traced for, and by what computes it."""

    def call(self, x):
        fault = FAULTS.get((x.shape[0], self.compute_dtype))
        return x if fault is None else fault(x)


def crashes(x):
    ctypes.string_at(0)


def wants_too_much(x):
    """64 TB: the allocator says no."""
    side = tf.cast(tf.shape(x)[0], tf.int32) * 0 + 2**22
    return x + tf.reduce_sum(tf.fill(tf.stack([side, side]), tf.reduce_mean(x)))


def sleeps(x):
    def wait(value):
        time.sleep(600)
        return value

    return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype), x.shape)


def is_not_a_number(x):
    return x * float("nan")


def runs_in_python(x):
    """Which XLA cannot compile."""
    return tf.ensure_shape(tf.numpy_function(lambda value: value, [x], x.dtype), x.shape)


def changes_shape(x):
    return tf.reshape(x, [-1, x.shape[1] // 2])


def prints(x):
    print("x" * 1_000_000 * 20)
    return x


def vanishes(x):
    """sqrt of a number that float16 flushes to zero: its value is finite, its gradient is not."""
    return x + keras.ops.sqrt(keras.ops.sigmoid(x) * keras.ops.cast(1e-9, x.dtype))


FAULTS = {
    (20, "float32"): crashes,
    (24, "float32"): wants_too_much,
    (28, "float32"): is_not_a_number,
    (32, "float32"): changes_shape,
    (40, "float32"): sleeps,
    (64, "float32"): prints,
    (48, "float32"): runs_in_python,
    (48, "float16"): vanishes,
}


def build(*, widths, input_shape, num_classes, dropout):
    inputs = keras.Input(input_shape)
    x = inputs
    for width in widths:
        x = keras.layers.Dense(width, activation="relu")(x)
    x = Trouble()(x)
    return keras.Model(inputs, keras.layers.Dense(num_classes, activation="softmax")(x))
'''
