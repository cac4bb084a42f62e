"""Timed blocks of real training steps, taken inside `fit` with callbacks: the path that training itself uses.

A bare loop over the train function differs from `fit` by a factor of 0.96 to 1.23, so it is not what is timed.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from autotune.decide import timing
from autotune.errors import TrialFault
from autotune.trial import BlockConditions, Candidate, FailureKind
from autotune.worker.child.conditions import Watch

_SYNC_READINGS = 21

# How long a `fit` of blocks of one execution waits for its first batch: this share of the block before, and no less.
_PAUSE_SHARE = 0.05
_SHORTEST_PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Block:
    """The mean step time of one block [ms], and what the machine did meanwhile."""

    step_ms: float
    conditions: BlockConditions


class Stepper:
    """Runs blocks of steps of one compiled model and times them.

    All that runs steps raises a TrialFault where `fit` ran fewer than it was asked for.

    Args:
        model: compiled.
        batches: one pass over the data; it is repeated.
        candidate: what the model was compiled for.
        callbacks: what training would call in each step, beside our own clock.
        watch: reads the machine's conditions before and after a block.
    """

    def __init__(
        self,
        model: keras.Model,
        batches: tf.data.Dataset,
        candidate: Candidate,
        callbacks: Sequence[keras.callbacks.Callback] = (),
        watch: Watch | None = None,
    ) -> None:
        self.model = model
        self.candidate = candidate
        self.batches = batches
        self.callbacks = list(callbacks)
        ahead = tf.data.Options()
        ahead.experimental_warm_start = True  # batches are made from the start of a `fit`, before its first step
        self._repeated = batches.repeat().with_options(ahead)
        self._watch = watch or Watch()
        self._last_block_s = 0.0
        self.loss: float | None = None

    def first_step_s(self) -> float:
        """Duration of the first train call: tracing, XLA compilation and one execution [s]."""
        return self._run(_Plan(executions=1)).parts[0][0]

    def step_ms(self, steps: int) -> float:
        """Mean step time over a block of `steps` steps, a multiple of steps_per_execution [ms]."""
        return self.blocks(steps, 1)[0].step_ms

    def blocks(self, steps: int, count: int) -> list[Block]:
        """So many blocks of `steps` steps one after another, in one `fit`: its own start and end are paid once.

        The conditions during each are read outside the time that is taken.
        """
        executions = steps // self.candidate.steps_per_execution
        pause_s = max(_SHORTEST_PAUSE_S, _PAUSE_SHARE * self._last_block_s) if executions == 1 else 0.0
        clock = self._run(_Plan(executions, timing.lead_in(executions), count, pause_s))
        self.loss, self._last_block_s = clock.loss, clock.parts[-1][0]
        return [Block(elapsed_s / steps * 1e3, conditions) for elapsed_s, conditions in clock.parts]

    def steps_for(self, block_s: float, step_ms: float) -> int:
        """Steps in a block of at least `block_s`, a multiple of steps_per_execution."""
        per_execution = self.candidate.steps_per_execution
        return max(1, math.ceil(block_s * 1e3 / (step_ms * per_execution))) * per_execution

    def sync_ms(self) -> float:
        """What the end of a block costs by itself: one wait for an idle device and one reading of the clock [ms]."""
        readings = []
        for _ in range(_SYNC_READINGS):
            began = time.perf_counter()
            self._wait()
            readings.append(time.perf_counter() - began)
        return statistics.median(readings) * 1e3

    def _run(self, plan: _Plan) -> _Clock:
        clock = _Clock(self, self._watch, plan)
        steps = plan.all_executions * self.candidate.steps_per_execution
        fed = steps * self.candidate.accumulation  # `fit` counts micro-batches
        # The first callback begins each step and the last one ends it, so those between are part of it.
        around = [
            keras.callbacks.LambdaCallback(on_train_batch_begin=clock.step_begins),
            *self.callbacks,
            keras.callbacks.LambdaCallback(on_train_batch_end=clock.step_ends),
        ]
        self.model.fit(self._repeated, epochs=1, steps_per_epoch=fed, callbacks=around, verbose=0, shuffle=False)
        if len(clock.parts) < plan.count:
            ran = clock.ended * self.candidate.steps_per_execution
            raise TrialFault(
                FailureKind.INVALID,
                f"`fit` ran {ran or 'no'} training steps instead of {steps}, so that none can be timed: the data must"
                " hold one whole batch, and a `fit` of the model's own must call its callbacks at each",
            )
        return clock

    def _wait(self) -> None:
        """Block until the device has done its work: reading the step count waits for the last update."""
        self.model.optimizer.iterations.numpy()


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one `fit` is to do: blocks of `executions`, `count` times, after a lead-in or a pause."""

    executions: int
    lead_in: int = 0
    count: int = 1
    pause_s: float = 0.0

    @property
    def all_executions(self) -> int:
        return self.lead_in + self.executions * self.count


class _Clock:
    """Times equal parts of a `fit` after its lead-in, waiting for the device at both ends of each.

    Attributes:
        ended: executions so far.
        parts: how long each part was [s], and the conditions during it.
    """

    def __init__(self, stepper: Stepper, watch: Watch, plan: _Plan) -> None:
        self._wait = stepper._wait
        self._watch = watch
        self._pause_s = plan.pause_s
        # Executions before each part, and up to its end.
        self._before = {plan.lead_in + number * plan.executions for number in range(plan.count)}
        self._up_to = {before + plan.executions for before in self._before}
        self._begun = 0
        self.ended = 0
        self._start_s = math.nan
        self.parts: list[tuple[float, BlockConditions]] = []
        self.loss: float | None = None

    def step_begins(self, batch: int, logs: Any = None) -> None:
        if self._begun == 0 and self._pause_s:
            time.sleep(self._pause_s)
        if self._begun in self._before:
            self._wait()
            self._watch.begin()
            self._start_s = time.perf_counter()
        self._begun += 1

    def step_ends(self, batch: int, logs: Any = None) -> None:
        self.ended += 1
        if self.ended in self._up_to:
            self._wait()
            elapsed_s = time.perf_counter() - self._start_s
            self.parts.append((elapsed_s, self._watch.end()))
            self.loss = float(logs["loss"]) if logs and "loss" in logs else None
