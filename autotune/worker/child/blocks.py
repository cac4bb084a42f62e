"""Timed blocks of real training steps, taken inside `fit` with a callback: the path that training itself uses.

A bare loop over the train function differs from `fit` by a factor of 0.96 to 1.23, so it is not what is timed.
"""

from __future__ import annotations

import time
from typing import Any

import keras
import tensorflow as tf

from autotune.trial import Candidate

# Executions before the clock starts: the iterator is made and its prefetch buffer filled.
_LEAD_IN = 1


class Stepper:
    """Runs blocks of steps of one compiled model and times them.

    Args:
        model: compiled.
        batches: one pass over the data; it is repeated.
        candidate: what the model was compiled for.
    """

    def __init__(self, model: keras.Model, batches: tf.data.Dataset, candidate: Candidate) -> None:
        self.model = model
        self._batches = batches.repeat()
        self._per_execution = candidate.steps_per_execution
        self.loss: float | None = None

    def first_step_s(self) -> float:
        """Duration of the first train call: tracing, XLA compilation and one execution [s]."""
        clock = _Clock(lead_in=0)
        self._fit(self._per_execution, clock)
        return clock.elapsed_s

    def step_ms(self, steps: int) -> float:
        """Mean step time over a block of `steps` steps, a multiple of steps_per_execution [ms]."""
        clock = _Clock(lead_in=_LEAD_IN)
        self._fit(steps + _LEAD_IN * self._per_execution, clock)
        self.loss = clock.loss
        return clock.elapsed_s / steps * 1e3

    def steps_for(self, block_s: float, step_ms: float) -> int:
        """Steps in a block of at least `block_s`, a multiple of steps_per_execution."""
        executions = max(1, round(block_s * 1e3 / (step_ms * self._per_execution) + 0.5))
        return executions * self._per_execution

    def _fit(self, steps: int, clock: _Clock) -> None:
        self.model.fit(self._batches, epochs=1, steps_per_epoch=steps, callbacks=[clock], verbose=0, shuffle=False)


class _Clock(keras.callbacks.Callback):  # type: ignore[misc]
    """Times from the end of the lead-in to the end of the last execution, waiting for the device at both ends."""

    def __init__(self, lead_in: int) -> None:
        super().__init__()
        self._left = lead_in
        self._start_s = 0.0
        self.elapsed_s = 0.0
        self.loss: float | None = None
        self._logs: dict[str, Any] = {}

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self._left == 0 and self._start_s == 0.0:
            self._start_s = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._logs = logs or {}
        if self._left > 0:
            self._left -= 1
            if self._left == 0:
                self._wait()
                self._start_s = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._wait()
        self.elapsed_s = time.perf_counter() - self._start_s

    def _wait(self) -> None:
        """Block until the device has done its work: reading the step count waits for the last update."""
        self.loss = float(self._logs["loss"]) if "loss" in self._logs else None
        self.model.optimizer.iterations.numpy()
