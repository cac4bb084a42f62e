"""A training step that takes a known multiple of another, whatever the machine does. Imported by the worker.

After the step that `fit` itself takes, a callback takes some more of the same model on one batch that is there already.
With `n` of them a step is `n + 1` steps long, so of two models with `n0` and `n1` that are else alike, the ratio of
throughput is `(n0 + 1) / (n1 + 1)`. It needs no constant of the machine: what slows one step down, such as another
process that takes a core for a moment, slows each of them down alike.

The step of `fit` itself is longer than the others by its input pipeline and by Keras's loop: 1.3 times as long where
this was tried, so that 21 to 22 are really 21.3 to 22.3. That moves the ratio by 0.06 %; fewer would move it by more.

A delay that spins for a multiple of each real step would give no such ratio, since it changes the step after it:
threads go to sleep, caches cool, and a scheduler that is fair takes from whoever spun. On two cores of an AMD EPYC half
a step of spinning made the real steps 8 to 10 % longer than they are without, and under load a ratio of 1.43 came out
as 1.6. Work of the same kind keeps the machine in the same state.

How many more steps a model takes is the last entry of its `widths`, which is the seam that every candidate has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.models import digits


def model(*, widths: Sequence[int], input_shape: tuple[int, ...] = (28, 28, 1), num_classes: int = 10) -> keras.Model:
    """The digits perceptron, with the number of its further steps as the last of the `widths`."""
    *units, further_steps = widths
    made = digits.mlp(widths=units, input_shape=input_shape, num_classes=num_classes)
    made.further_steps = further_steps
    return made


class FurtherSteps(keras.callbacks.Callback):  # type: ignore[misc]
    """Takes as many further steps after each as its model says.

    Args:
        batch_size: of the resident batch; the user's own.
    """

    def __init__(self, batch_size: int) -> None:
        super().__init__()
        self._batch_size = batch_size
        self._batches: Iterator[Any] | None = None

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if self._batches is None:
            shape = (self._batch_size, *self.model.input_shape[1:])
            x = np.random.default_rng(0).random(shape, dtype=np.float32)
            y = np.arange(self._batch_size, dtype=np.int32) % self.model.output_shape[-1]
            self._batches = iter(tf.data.Dataset.from_tensors((x, y)).repeat())
        for _ in range(self.model.further_steps):
            self.model.train_function(self._batches)
