"""A person's own callbacks in timed blocks: what they do in each step belongs to the step, and nothing else runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

_IN_EACH_STEP = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")


def step_hooks(callbacks: Sequence[keras.callbacks.Callback]) -> list[keras.callbacks.Callback]:
    """The callbacks that do something in each training step, without what they do at the end of an epoch or a training.

    A block is no epoch: a checkpoint written or a rate lowered after each would be neither wanted nor timed. Nor is a
    checkpoint after so many steps: it would write weights of timed steps over a person's files. So a ModelCheckpoint is
    left out whatever its `save_freq`, and its cost in training is not timed.
    """
    return [_StepHooks(one) for one in callbacks if _acts_in_steps(one)]


def _acts_in_steps(callback: keras.callbacks.Callback) -> bool:
    if isinstance(callback, keras.callbacks.ModelCheckpoint):
        return False
    return any(_implements(callback, hook) for hook in _IN_EACH_STEP)


def _implements(callback: keras.callbacks.Callback, hook: str) -> bool:
    """Whether it has its own, by its class or, as a LambdaCallback, by an attribute."""
    own = getattr(callback, hook)
    return getattr(own, "__func__", own) is not getattr(keras.callbacks.Callback, hook)


class _StepHooks(keras.callbacks.Callback):  # type: ignore[misc]
    """Forwards to one callback as if all blocks were the beginning of one long epoch.

    So the training and its first epoch begin once: hooks of a step may use what these have prepared. They never end.
    """

    def __init__(self, inner: keras.callbacks.Callback) -> None:
        super().__init__()
        self._inner = inner
        self._begun = False

    def set_params(self, params: Any) -> None:
        super().set_params(params)
        self._inner.set_params(params)

    def set_model(self, model: keras.Model) -> None:
        if self._model is not model:
            super().set_model(model)
            self._inner.set_model(model)

    def on_train_begin(self, logs: Any = None) -> None:
        if not self._begun:
            self._begun = True
            self._inner.on_train_begin(logs)
            self._inner.on_epoch_begin(0, None)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._inner.on_train_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._inner.on_train_batch_end(batch, logs=logs)
        self.model.stop_training = False  # a training may be ended early, as by a loss of NaN; a block is timed whole
