"""How much each layer harms when it computes in 16 bit: one layer at a time in 16 bit, all others in float32.

What is measured is the gradient of the loss with respect to all trainable weights, on one real batch: its distance from
the gradient in float32, over the length of that one. A gradient is what a step of training takes from a model, and it
shows both what rounding and what overflow and underflow do, forward and backward.

The other way round, everything in 16 bit but one layer, was not chosen: as long as two layers overflow, to put either
of them into float32 mends nothing and tells nothing. One alone in 16 bit names each that does.

No model is built twice for it: of a model that was built in float32, `Layer.dtype_policy` is set and set back
(Keras 3.15 reads the compute dtype at each call; https://keras.io/api/layers/base_layer/). Weights stay float32 either
way. Dropout masks and moving averages are put back before each pass, so that passes differ in nothing else; and what
draws random numbers and has no weights, such as dropout, is left in float32, since in another dtype it draws others.

In float16 the loss is scaled as in training, by the largest of `_SCALES` with which the gradient is finite: where that
exists, a dynamic scale would come down to it. Weights are those at the beginning of a training: of layers whose
activations grow only later nothing is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import keras
import tensorflow as tf

from autotune.data import Part
from autotune.trial import LayerHarm, Policy
from autotune.worker.child import mixed
from autotune.worker.child.build import ModelBuilder, with_float32_output
from autotune.worker.protocol import HarmArgs

_SCALES = (2.0**15, 2.0**10, 2.0**5, 1.0)  # the first is where keras.optimizers.LossScaleOptimizer begins


def measured(
    builder: ModelBuilder, part: Part, args: HarmArgs, alive: Callable[[], None] = lambda: None
) -> tuple[LayerHarm, ...]:
    """Each layer that computes in 16 bit under the candidate's policy, in the model's order.

    Args:
        builder: of the models.
        part: the training part, whose first micro-batch is taken.
        args: what is asked for; layers that the policy leaves in float32 are measured too.
        alive: called after each layer.

    Raises:
        TrialFault: the model cannot be built.
    """
    policy, size = Policy(args.candidate.policy.name), args.candidate.micro_batch
    low = set(_in_16_bit(builder, args, policy))
    float32 = replace(args.candidate, policy=Policy(mixed.FLOAT32))
    model = builder.build(float32, args.recipe, args.seed).model
    batch = (tf.convert_to_tensor(part.x[:size]), tf.convert_to_tensor(part.y[:size]))
    scales = _SCALES if policy.compute_dtype == "float16" else (1.0,)
    pure, found = _gradient(model, batch, (1.0,)), []
    for path, layer in mixed.units(model).items():
        parts = [part for part in layer._flatten_layers() if part.weights or not part._seed_generators]
        if path in low and parts:
            with _set(parts, policy):
                error = _distance(_gradient(model, batch, scales), pure)
            found.append(LayerHarm(path, error, sum(math.prod(weight.shape) for weight in layer.weights)))
            alive()
    return tuple(found)


def _in_16_bit(builder: ModelBuilder, args: HarmArgs, policy: Policy) -> Iterator[str]:
    """Paths of the layers that are not in float32 under the policy, whatever they say of themselves."""
    reduced = with_float32_output(builder.raw(replace(args.candidate, policy=policy), args.seed))
    for path, layer in mixed.units(reduced).items():
        if not mixed.computes_in(layer, mixed.FLOAT32):
            yield path


@contextmanager
def _set(parts: list[keras.Layer], policy: Policy) -> Iterator[None]:
    """These layers in this policy."""
    before = [(part, part.dtype_policy) for part in parts]
    for part, _ in before:
        part.dtype_policy = policy.name
    try:
        yield
    finally:
        for part, own in before:
            part.dtype_policy = own


def _gradient(model: keras.Model, batch: tuple[Any, Any], scales: tuple[float, ...]) -> list[Any]:
    """Of the compiled loss; the first that is finite, else the last; nothing is updated."""
    x, y = batch
    state = [(variable, tf.identity(variable.value)) for variable in model.non_trainable_variables]
    found: list[Any] = []
    for scale in scales:
        for variable, value in state:
            variable.assign(value)
        with tf.GradientTape() as tape:
            loss = model.compute_loss(x, y, model(x, training=True)) * scale
        gradients = tape.gradient(loss, [weight.value for weight in model.trainable_variables])
        found = [tf.convert_to_tensor(one) / scale for one in gradients if one is not None]
        if all(bool(tf.reduce_all(tf.math.is_finite(one))) for one in found):
            break
    for variable, value in state:
        variable.assign(value)
    return found


def _distance(own: list[Any], pure: list[Any]) -> float | None:
    """Over the length of the pure one; 0 where there is no gradient at all."""
    far = float(tf.linalg.global_norm([one - other for one, other in zip(own, pure, strict=True)]))
    length = float(tf.linalg.global_norm(pure))
    if not math.isfinite(far) or not math.isfinite(length):
        return None
    return far / length if length else 0.0
