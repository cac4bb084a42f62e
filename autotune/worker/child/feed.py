"""The input pipeline: one for timing and training, in float32.

Indices are shuffled and whole batches gathered, so the order of examples depends on the seed alone and not on the batch
size: two candidates on one seed see the same permutation of the same examples. That holds wherever batches are
gathered: by the host, or by the training step, from arrays on the device, of which it is fed the rows.
"""

from __future__ import annotations

import weakref

import keras
import numpy as np
import tensorflow as tf

from autotune.data import Part
from autotune.trial import Candidate, Pipeline
from autotune.worker.child import framework, step


class Feed:
    """Batches of the first `examples` of a fixed, seeded permutation of the training part.

    Args:
        part: the training part.
        split_seed: of the permutation that picks the examples; the same for every seed of a study.
    """

    def __init__(self, part: Part, split_seed: int) -> None:
        with tf.device("/CPU:0"):  # whole arrays on a GPU would take the memory that the batch is to have
            self._x = tf.constant(part.x)
            self._y = tf.constant(part.y)
        self._order = np.random.default_rng(split_seed).permutation(len(part.y)).astype(np.int64)
        self._on_device: tuple[weakref.ref[tf.Tensor], ...] = ()

    def feeding(self, model: keras.Model, candidate: Candidate, *, examples: int, seed: int) -> tf.data.Dataset:
        """What to train a compiled model of the candidate on: one pass, in micro-batches if it accumulates.

        The order of examples is that of `batches`, whatever the candidate's pipeline.
        """
        asked = {"examples": examples, "batch_size": candidate.batch_size, "seed": seed}
        if candidate.pipeline is Pipeline.HOST:
            return self.batches(**asked, accumulation=candidate.accumulation)
        listening = step.traced(model)
        assert listening is not None, "a built model's training step is listened to"
        listening.gather_from(self._arrays_on_device())
        return self.rows(**asked, accumulation=candidate.accumulation).prefetch(tf.data.AUTOTUNE)

    def batches(self, *, examples: int, batch_size: int, seed: int, accumulation: int = 1) -> tf.data.Dataset:
        """One pass in a new order each time it is iterated; the last partial batch is dropped.

        A dataset that ends, rather than a repeated one with `steps_per_epoch`: with the latter, Keras rounds an epoch
        up to whole executions when `steps_per_execution` is above 1.
        """
        x, y = self._x, self._y
        return (
            self.rows(examples=examples, batch_size=batch_size, seed=seed, accumulation=accumulation)
            .map(lambda rows: (tf.gather(x, rows), tf.gather(y, rows)), num_parallel_calls=tf.data.AUTOTUNE)
            .prefetch(tf.data.AUTOTUNE)
        )

    def rows(self, *, examples: int, batch_size: int, seed: int, accumulation: int = 1) -> tf.data.Dataset:
        """The rows of each batch, or of each micro-batch, of which there are as many as make up the whole batches."""
        chosen = tf.data.Dataset.from_tensor_slices(self._order[:examples])
        shuffled = chosen.shuffle(examples, seed=seed, reshuffle_each_iteration=True)
        if accumulation == 1:
            return shuffled.batch(batch_size, drop_remainder=True)
        parts = examples // batch_size * accumulation
        return shuffled.batch(batch_size // accumulation, drop_remainder=True).take(parts)

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
