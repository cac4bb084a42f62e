"""LSTM and GRU on a GPU: cuDNN runs them in a few kernels, where the CPU that traced them runs a loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autotune.config.hardware import DeviceKind
from autotune.hardware.profile import Profile
from autotune.trial.anatomy import LayerAnatomy, ModelAnatomy, StepAnatomy

RECURRENT = ("LSTM", "GRU")

# What Keras documents as the conditions of the cuDNN kernels of LSTM and GRU: values, and the remedy for all others.
_CUDNN: dict[str, tuple[tuple[Any, ...], str]] = {
    "activation": (("tanh",), 'activation="tanh"'),
    "recurrent_activation": (("sigmoid",), 'recurrent_activation="sigmoid"'),
    "recurrent_dropout": ((0,), "recurrent_dropout=0"),
    "unroll": ((False,), "unroll=False"),
    "use_bias": ((True,), "use_bias=True"),
    "reset_after": ((True,), "reset_after=True"),
    "use_cudnn": (("auto", True), 'use_cudnn="auto"'),
}

# What TensorFlow hands to the device for such a layer, forward and backward: cuDNN's two calls, transposed series,
# weights that are joined and their gradients that are parted again. An assumption.
_OPERATIONS = 20


def without_cudnn(layer: LayerAnatomy) -> list[tuple[str, Any, str]]:
    """The settings that keep a recurrent layer from cuDNN: key, value, remedy."""
    return [
        (key, layer.settings[key], remedy)
        for key, (wanted, remedy) in _CUDNN.items()
        if key in layer.settings and layer.settings[key] not in wanted
    ]


def in_cudnn(layer: LayerAnatomy, target: Profile) -> bool:
    """Whether the target runs it by cuDNN; Keras then leaves XLA out for the whole model."""
    return target.kind is DeviceKind.gpu and layer.kind in RECURRENT and not layer.own and not without_cudnn(layer)


def on_target(facts: ModelAnatomy, target: Profile) -> ModelAnatomy:
    """The facts as the target has them: recurrent layers by cuDNN, of whose loop only the products are left."""
    reduced = facts.reduced
    return replace(
        facts, float32=_step(facts.float32, target), reduced=None if reduced is None else _step(reduced, target)
    )


def _step(step: StepAnatomy, target: Profile) -> StepAnatomy:
    return replace(step, layers=tuple(_by_cudnn(layer) if in_cudnn(layer, target) else layer for layer in step.layers))


def _by_cudnn(layer: LayerAnatomy) -> LayerAnatomy:
    return replace(
        layer,
        operations=min(layer.operations, _OPERATIONS),
        weight_bytes=sum(product.weight_bytes * product.times for product in layer.products),
        batch_bytes=sum(product.batch_bytes * product.times for product in layer.products),
        compiles=False,
    )
