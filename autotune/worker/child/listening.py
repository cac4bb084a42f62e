"""Hears, while a training step is traced, what is differentiated and whether its gradients are clipped."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

_CLIPS = ("clip_by_global_norm", "clip_by_norm", "clip_by_value")


class Listener:
    """Stands beside TensorFlow's gradient tape and its clipping functions for a while.

    Args:
        model: whose step is traced.

    Attributes:
        loss_dtype: of what the tape differentiates, before it is scaled; None if it was asked for nothing.
        clips: whether the step itself clips what the tape returned.
    """

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        self._gradients: set[int] = set()
        self._kept: list[Any] = []  # an id is told once more when what it belonged to is gone
        self._scaled_dtype: str | None = None
        self.loss_dtype: str | None = None
        self.clips = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Listen; everything is as it was afterwards."""
        gradient = tf.GradientTape.gradient

        def heard(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            floating = [one for one in keras.tree.flatten(target) if hasattr(one, "dtype")]
            if floating:
                dtype = keras.backend.standardize_dtype(floating[0].dtype)
                self.loss_dtype = self._scaled_dtype or dtype  # scaling it makes it float32
            result = gradient(tape, target, sources, *args, **kwargs)
            found = [one for one in keras.tree.flatten(result) if one is not None]
            self._kept += found
            self._gradients |= set(map(id, found))
            return result

        scaler = keras.optimizers.LossScaleOptimizer
        scale = scaler.scale_loss

        def heard_scaling(optimizer: Any, loss: Any) -> Any:
            self._scaled_dtype = keras.backend.standardize_dtype(loss.dtype) if hasattr(loss, "dtype") else None
            return scale(optimizer, loss)

        before = {name: getattr(tf, name) for name in _CLIPS}
        scaler.scale_loss = heard_scaling
        tf.GradientTape.gradient = heard
        for name, function in before.items():
            setattr(tf, name, self._clip(function))
        try:
            yield
        finally:
            tf.GradientTape.gradient = gradient
            scaler.scale_loss = scale
            for name, function in before.items():
                setattr(tf, name, function)

    def _clip(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def heard(values: Any, *args: Any, **kwargs: Any) -> Any:
            if any(id(one) in self._gradients for one in keras.tree.flatten(values)):
                self.clips = True
            return function(values, *args, **kwargs)

        return heard
