"""The input pipeline: one for timing and training, on the host, in float32.

Indices are shuffled and whole batches gathered, so the order of examples depends on the seed alone and not on the batch
size: two candidates on one seed see the same permutation of the same examples.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from autotune.data import Part


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

    def batches(self, *, examples: int, batch_size: int, seed: int) -> tf.data.Dataset:
        """One pass in a new order each time it is iterated; the last partial batch is dropped.

        A dataset that ends, rather than a repeated one with `steps_per_epoch`: with the latter, Keras rounds an epoch
        up to whole executions when `steps_per_execution` is above 1.
        """
        x, y = self._x, self._y
        chosen = tf.data.Dataset.from_tensor_slices(self._order[:examples])
        return (
            chosen.shuffle(examples, seed=seed, reshuffle_each_iteration=True)
            .batch(batch_size, drop_remainder=True)
            .map(lambda rows: (tf.gather(x, rows), tf.gather(y, rows)), num_parallel_calls=tf.data.AUTOTUNE)
            .prefetch(tf.data.AUTOTUNE)
        )
