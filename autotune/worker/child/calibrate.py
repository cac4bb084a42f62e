"""What this host really does, in two or three seconds: the peaks that a prediction for this host divides by."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.trial.anatomy import Calibration

_SIDE = 1024
_ELEMENTS = 2**24  # 64 MiB of float32: twice a last-level cache and more
_CHAIN = 200
_STEPS = 60
_ROUNDS = 5
_DTYPES = ("float32", "bfloat16", "float16")


def calibrated(skip: tuple[str, ...] = ()) -> Calibration:
    """Measure; the best of some rounds each, as others may use the machine.

    Args:
        skip: dtypes that are emulated here, and slow beyond use.
    """
    return Calibration(
        tflops={dtype: _tflops(dtype) for dtype in _DTYPES if dtype not in skip},
        bandwidth_gb_s=_bandwidth_gb_s(),
        operation_us=_operation_us(),
        call_ms=_call_ms(),
    )


def _best_s(run: Callable[[], Any]) -> float:
    run()  # traced, and its memory touched
    took = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        run()
        took.append(time.perf_counter() - began)
    return min(took)


def _tflops(dtype: str) -> float:
    side = tf.cast(tf.random.stateless_uniform((_SIDE, _SIDE), (0, 0)), dtype)
    product = tf.function(tf.matmul, autograph=False)

    def once() -> Any:
        return product(side, side)[-1, -1].numpy()

    return 2 * _SIDE**3 / _best_s(once) / 1e12


def _bandwidth_gb_s() -> float:
    """Two arrays read and one written."""
    left, right = tf.ones(_ELEMENTS), tf.ones(_ELEMENTS)

    def once() -> Any:
        return tf.add(left, right)[-1].numpy()

    return 3 * 4 * _ELEMENTS / _best_s(once) / 1e9


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

    return _best_s(once) / (2 * _CHAIN) * 1e6


def _call_ms() -> float:
    keras.config.set_dtype_policy("float32")
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", jit_compile=False)
    batches = tf.data.Dataset.from_tensors((np.ones((1, 1), "float32"),) * 2).repeat()
    model.fit(batches, steps_per_epoch=2, verbose=0, shuffle=False)
    took = []
    for _ in range(3):
        began = time.perf_counter()
        model.fit(batches, steps_per_epoch=_STEPS, verbose=0, shuffle=False)
        took.append((time.perf_counter() - began) / _STEPS)
    return min(took) * 1e3
