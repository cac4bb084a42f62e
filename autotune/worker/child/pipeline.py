"""What the input pipeline costs: the same step on one batch that is on the device already, beside fed steps."""

from __future__ import annotations

import sys
import time
import traceback
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from autotune.decide.timing import FEWEST_PAIRS, lead_in
from autotune.trial import PipelineTiming
from autotune.worker.child import framework, step
from autotune.worker.child.blocks import Stepper
from autotune.worker.child.feed import without_autotune
from autotune.worker.child.turns import in_turn

# As many as a rule for speedups would ask for; six, without which there is no interval, if that would take long.
_PAIRS = 10
_MOST_S = 3.0

# Six pairs of slow steps, or compiling a large model once more, may take longer than the share is worth knowing.
_CAP_S = 4 * _MOST_S


def time_pipeline(
    fed: Stepper, steps: int, block_s: float, *, step_ms: float, compile_s: float
) -> PipelineTiming | None:
    """Blocks of both in turn.

    Both go through the same `fit`, with the same callbacks, on the same compiled model. What differs is where the batch
    comes from. So the difference is what the step waits for its input, and what making the input takes away from the
    step on cores that both use.

    Args:
        fed: of a compiled, warmed-up model, which is left as it was but for some more steps of training.
        steps: in one of its blocks.
        block_s: shortest length of a block on the resident batch [s].
        step_ms: of the model, as it was timed just before [ms].
        compile_s: what its first step took [s]; the step on the resident batch is compiled anew.

    Returns:
        None where it would take too long, or where the step cannot be made to ignore its input: a model with a
        `make_train_function` of its own, or too little memory for another batch. That is no fault of the candidate, and
        the worker's log says why.
    """
    if (needed_s := _fewest_s(fed, steps, block_s, step_ms) + compile_s) > _CAP_S:
        sys.stderr.write(
            f"what the input pipeline costs is not measured: {FEWEST_PAIRS} pairs of blocks and another compilation"
            f" would take {needed_s:.0f} s, above {_CAP_S:.0f} s\n"
        )
        return None
    function = fed.model.train_function
    try:
        resident = _resident(fed, block_s)
        return _alternate(_Side(fed, function, steps), resident)
    except Exception:  # noqa: BLE001 (whatever a model's own code raises here, the candidate itself was measured)
        traceback.print_exc()
        return None
    finally:
        fed.model.train_function = function


def _fewest_s(fed: Stepper, steps: int, block_s: float, step_ms: float) -> float:
    """The fewest pairs of blocks with their lead-ins, as if the step on the resident batch took no less [s]."""
    resident, per_execution = fed.steps_for(block_s, step_ms), fed.candidate.steps_per_execution
    # One `fit` takes two blocks.
    per_pair = steps + resident + lead_in(max(steps, resident) // per_execution) * per_execution
    return FEWEST_PAIRS * per_pair * step_ms / 1e3


@dataclass(frozen=True, slots=True)
class _Side:
    """A stepper with the compiled train function that its `fit` is to call, and the steps of its blocks."""

    stepper: Stepper
    function: Any
    steps: int

    def step_ms(self, count: int) -> list[float]:
        """Of so many blocks, one after another."""
        self.stepper.model.train_function = self.function
        return [block.step_ms for block in self.stepper.blocks(self.steps, count)]


def _resident(fed: Stepper, block_s: float) -> _Side:
    """The step on a fixed batch, compiled and warm."""
    model = fed.model
    listening = step.traced(model)
    with tf.device(f"/{framework.accelerator()}:0"):
        batch = tf.nest.map_structure(tf.identity, next(iter(fed.batches)))
        if listening is not None:  # rows of arrays on the device are gathered once
            batch = listening.batch(batch)
    _make_function_on(model, batch)
    nothing = without_autotune(tf.data.Dataset.from_tensors(0))  # `fit` wants to be fed: some microseconds
    stepper = Stepper(model, nothing, fed.candidate, fed.callbacks)
    stepper.first_step_s()
    step_ms = stepper.step_ms(fed.candidate.steps_per_execution)
    return _Side(stepper, model.train_function, stepper.steps_for(block_s, step_ms))


def _make_function_on(model: keras.Model, batch: Any) -> None:
    """Give the model a train function whose step ignores what it is given; its `train_step` is as before."""
    own, overridden = model.train_step, "train_step" in vars(model)
    model.train_step = lambda _: own(batch)
    try:
        model.make_train_function(force=True)
    finally:
        if overridden:
            model.train_step = own
        else:
            del model.train_step


def _alternate(fed: _Side, resident: _Side) -> PipelineTiming:
    """Both in turn."""
    began = time.perf_counter()

    def enough(fed_ms: list[float], _: list[float]) -> bool:
        return len(fed_ms) >= FEWEST_PAIRS and time.perf_counter() - began > _MOST_S

    fed_ms, resident_ms = in_turn(fed.step_ms, resident.step_ms, FEWEST_PAIRS, _PAIRS, enough)
    return PipelineTiming(fed_step_ms=tuple(fed_ms), resident_step_ms=tuple(resident_ms))
