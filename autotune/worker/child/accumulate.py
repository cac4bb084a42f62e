"""Gradient accumulation: one optimizer step from several micro-batches, as Keras's optimizers do it.

The optimizer sums gradients and divides them by their number, so that its step is that of the whole batch wherever the
loss is a mean over examples. That leaves three traps of Keras 3.15, of which two are mended here and one is told:

- A learning-rate schedule is read at the number of micro-batches, not of steps: it ends that many times too early.
  So it is made to count in micro-batches, and read where a step of the whole batch would read it.
- `fit` counts micro-batches as its steps. So `steps_per_execution` is compiled as a multiple: a callback's batch hooks
  and the log are called once an optimizer step, as without accumulation.
- A moving average of the weights (`use_ema`) is taken after each micro-batch: it is no candidate (see
  `autotune.space.further`).

A loss scaler is around the optimizer that accumulates, so what it adds up is unscaled already. A micro-batch whose
gradient is not finite is left out, and the next takes its place. Sparse gradients are made dense, so an adaptive
optimizer moves rows of an embedding that a sparse one would have left alone.
"""

from __future__ import annotations

from typing import Any

import keras


def accumulating(optimizer: keras.Optimizer) -> int:
    """Micro-batches that a compiled model's optimizer takes for one step."""
    inner = optimizer.inner_optimizer if isinstance(optimizer, keras.optimizers.LossScaleOptimizer) else optimizer
    return int(inner.gradient_accumulation_steps or 1)


def read_rate_per_step(optimizer: keras.Optimizer) -> None:
    """Have an accumulating optimizer read its schedule, which counts micro-batches, at the beginning of the step.

    What is saved of it is Keras's own: the schedule counts as Keras will read it, less than a step apart.
    """
    schedule, each = optimizer._learning_rate, optimizer.gradient_accumulation_steps
    if not each or not isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule):
        return

    def current() -> Any:
        return schedule(optimizer.iterations * each)

    vars(optimizer)["_get_current_learning_rate"] = current
