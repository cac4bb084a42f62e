"""The input pipeline, in float32: of training, and of timing, which alone does not shuffle anew at each pass.

Indices are shuffled and whole batches gathered, so the order of examples depends on the seed alone and not on the batch
size: two candidates on one seed see the same permutation of the same examples. That holds wherever batches are
gathered: by the host, or by the training step, from arrays on the device, of which it is fed the rows.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from autotune.data import Part
from autotune.data.dataset import ALIGNMENT
from autotune.trial import Candidate, Pipeline
from autotune.worker.child import framework, step

# Batches that are gathered at once, at most: each takes memory.
_MOST_AT_ONCE = 8

# Batches that wait for the step.
_AHEAD = 2


def without_autotune(batches: tf.data.Dataset) -> tf.data.Dataset:
    """The same, with no thread that looks for better settings while it is iterated.

    The end of an iterator waits for that thread, which sleeps for up to as long again as the iterator has lived: a
    `fit` of three steps of 0.5 s took 2.6 s instead of 1.4, one of five of 80 ms 0.64 s instead of 0.42 (medians of 20
    on two CPU cores, TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.with_options(options)


def _tensor(array: npt.NDArray[Any]) -> tf.Tensor:
    """The array's own memory where TensorFlow can take it, else a copy: of CIFAR-10 half a gigabyte, and a second."""
    if array.ctypes.data % ALIGNMENT or not array.flags.writeable or not array.flags.c_contiguous:
        return tf.constant(array)
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


class Feed:
    """Batches of the first `examples` of a fixed, seeded permutation of the training part.

    Args:
        part: the training part.
        split_seed: of the permutation that picks the examples; the same for every seed of a study.
    """

    def __init__(self, part: Part, split_seed: int) -> None:
        with tf.device("/CPU:0"):  # whole arrays on a GPU would take the memory that the batch is to have
            self._x = _tensor(part.x)
            self._y = _tensor(part.y)
        self._order = np.random.default_rng(split_seed).permutation(len(part.y)).astype(np.int64)
        self._on_device: tuple[weakref.ref[tf.Tensor], ...] = ()

    def feeding(self, model: keras.Model, candidate: Candidate, *, examples: int, seed: int | None) -> tf.data.Dataset:
        """What to train a compiled model of the candidate on: one pass, in micro-batches if it accumulates.

        The order of examples is that of `batches`, whatever the candidate's pipeline.
        """
        rows = self._rows(examples, candidate.batch_size, seed, candidate.accumulation)
        if candidate.pipeline is Pipeline.HOST:
            return self._gathered(rows)
        listening = step.traced(model)
        assert listening is not None, "a built model's training step is listened to"
        listening.gather_from(self._arrays_on_device())
        return without_autotune(rows.prefetch(_AHEAD))

    def batches(self, *, examples: int, batch_size: int, seed: int | None, accumulation: int = 1) -> tf.data.Dataset:
        """One pass; the last partial batch is dropped.

        A dataset that ends, rather than a repeated one with `steps_per_epoch`: with the latter, Keras rounds an epoch
        up to whole executions when `steps_per_execution` is above 1.

        Args:
            examples: of the training part.
            batch_size: examples per optimizer step.
            seed: of the orders, of which each pass has a new one. With None all have the same: for timing, where a
                new iterator is made every few steps and would draw a whole order for them.
            accumulation: micro-batches to a batch.
        """
        return self._gathered(self._rows(examples, batch_size, seed, accumulation))

    def _gathered(self, rows: tf.data.Dataset) -> tf.data.Dataset:
        x, y = self._x, self._y
        at_once = min(_MOST_AT_ONCE, os.cpu_count() or 1)
        batches = rows.map(lambda row: (tf.gather(x, row), tf.gather(y, row)), num_parallel_calls=at_once)
        return without_autotune(batches.prefetch(_AHEAD))

    def _rows(self, examples: int, batch_size: int, seed: int | None, accumulation: int) -> tf.data.Dataset:
        """The rows of each batch, or of each micro-batch, of which there are as many as make up the whole batches.

        A whole order is drawn at once, and whole batches of it are passed on: tf.data's own `shuffle` takes 2 us an
        example, all of them before the first batch of a pass.
        """
        parts, size = examples // batch_size * accumulation, batch_size // accumulation
        chosen, taken = self._order[:examples], parts * size
        if seed is None:
            return tf.data.Dataset.from_tensor_slices(chosen[:taken].reshape(parts, size))

        def drawn(two: tf.Tensor) -> tf.Tensor:
            order = tf.random.experimental.stateless_shuffle(chosen, two)
            return tf.reshape(order[:taken], (parts, size))

        seeds = tf.data.Dataset.random(seed, rerandomize_each_iteration=True).batch(2, drop_remainder=True)
        return seeds.take(1).map(drawn).unbatch()

    def _arrays_on_device(self) -> tuple[tf.Tensor, ...]:
        """The whole training part on the device, for as long as a model is fed from it: its memory is the model's."""
        kind = framework.accelerator()
        if kind == "CPU":
            return self._x, self._y
        arrays = tuple(found for reference in self._on_device if (found := reference()) is not None)
        if len(arrays) < 2:
            with tf.device(f"/{kind}:0"):
                arrays = tf.identity(self._x), tf.identity(self._y)
            self._on_device = tuple(map(weakref.ref, arrays))
        return arrays
