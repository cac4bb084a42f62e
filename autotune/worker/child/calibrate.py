"""What this host really does, in two or three seconds: the peaks that a prediction for this host divides by."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.trial.anatomy import Calibration
from autotune.worker.child.feed import without_autotune

_SIDE = 1024
_PRODUCTS = 4
_ELEMENTS = 2**24  # 64 MiB of float32: more than a last-level cache, and new memory for each result
_CHAIN = 200
_STEPS = 60
_ROUNDS = 4
_FITS = 3
_DTYPES = ("float32", "bfloat16", "float16")


def calibrated(skip: tuple[str, ...] = ()) -> Calibration:
    """Measure: rates are the best of some rounds, as others may use the machine, and times are medians.

    A rate is a ceiling that steps are held against, a time is what a step is predicted to wait for.

    Args:
        skip: dtypes that are emulated here, and slow beyond use.
    """
    return Calibration(
        tflops={dtype: _tflops(dtype) for dtype in _DTYPES if dtype not in skip},
        bandwidth_gb_s=_bandwidth_gb_s(),
        new_memory_gb_s=_new_memory_gb_s(),
        operation_us=_operation_us(),
        call_ms=_call_ms(),
    )


def _best_s(run: Callable[[], Any]) -> float:
    return min(_seconds(run))


def _seconds(run: Callable[[], Any]) -> list[float]:
    run()  # traced, and its memory touched
    took = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        run()
        took.append(time.perf_counter() - began)
    return took


def _tflops(dtype: str) -> float:
    """Products in a row within one call, as a step has them: a call of its own for each would cost a fifth."""
    values = tf.random.stateless_uniform((_SIDE, _SIDE), (0, 0), maxval=2 / _SIDE)  # products neither grow nor fade
    factor = tf.cast(values, dtype)

    def products() -> Any:
        value = factor
        for _ in range(_PRODUCTS):
            value = tf.matmul(value, factor)
        return value[-1, -1]

    compiled = tf.function(products, autograph=False)
    return _PRODUCTS * 2 * _SIDE**3 / _best_s(lambda: compiled().numpy()) / 1e12


def _bandwidth_gb_s() -> float:
    """Two arrays read and one of them written, as an optimizer does."""
    value, other = tf.Variable(tf.zeros(_ELEMENTS)), tf.ones(_ELEMENTS)
    compiled = tf.function(lambda: value.assign_add(other)[-1], autograph=False)
    return 3 * 4 * _ELEMENTS / _best_s(lambda: compiled().numpy()) / 1e9


def _new_memory_gb_s() -> float:
    """Arrays read and as many written to memory that the system hands out for it, page by page."""
    value = tf.ones(_ELEMENTS)
    compiled = tf.function(lambda: tf.add_n([(value - by)[-1] for by in (1.0, 2.0)]), autograph=False)
    return 2 * 2 * 4 * _ELEMENTS / _best_s(lambda: compiled().numpy()) / 1e9


def _operation_us() -> float:
    """A chain of additions that depend upon each other and that TensorFlow does not fold."""

    def chain(value: Any) -> Any:
        for _ in range(_CHAIN):
            value = value * value + value
        return value

    compiled = tf.function(chain, autograph=False)
    small = tf.fill((8, 8), 0.001)

    def once() -> Any:
        return compiled(small).numpy()

    return statistics.median(_seconds(once)) / (2 * _CHAIN) * 1e6


def _call_ms() -> float:
    keras.config.set_dtype_policy("float32")
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", metrics=["mae"], jit_compile=False)
    batches = without_autotune(tf.data.Dataset.from_tensors((np.ones((1, 1), "float32"),) * 2).repeat())
    model.fit(batches, steps_per_epoch=2, verbose=0, shuffle=False)
    took = []
    for _ in range(_FITS):
        began = time.perf_counter()
        model.fit(batches, steps_per_epoch=_STEPS, verbose=0, shuffle=False)
        took.append((time.perf_counter() - began) / _STEPS)
    return statistics.median(took) * 1e3
