"""What is in force in a compiled model, as against what was asked of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import keras

from autotune.trial import Effect, LayerEffect, Pipeline
from autotune.worker.child import framework, step
from autotune.worker.child.accumulate import accumulating

_PLAIN_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D")

# They have weights, and no matrix product.
_WITHOUT_PRODUCTS = (
    keras.layers.BatchNormalization,
    keras.layers.GroupNormalization,
    keras.layers.LayerNormalization,
    keras.layers.Embedding,
)


def inspect(model: keras.Model) -> Effect:
    """The effect of a compiled, built model; what its training step really does shows once it was trained."""
    optimizer = model.optimizer
    scaled = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    traced = step.traced(model)
    parts = accumulating(optimizer)
    return Effect(
        xla=bool(model.jit_compile),  # `compile` has resolved auto, and downgraded True where a layer forbids it
        layers=tuple(_layer(layer, traced) for layer in model._flatten_layers(include_self=False) if _is_leaf(layer)),
        output_dtype=_output_dtype(model),
        loss_scaling=scaled,
        optimizer=type(optimizer.inner_optimizer if scaled else optimizer).__name__,
        tf32=framework.tf32(),
        deterministic=framework.deterministic(),
        placed_on=_placed_on(model),
        products=tuple(replace(one, flops=one.flops * parts) for one in traced.products) if traced else (),
        own_train_step=traced.own if traced else False,
        scales_loss=traced.scales_loss if traced and scaled else None,
        accumulation=parts,
        pipeline=traced.pipeline if traced else Pipeline.HOST,
    )


def _is_leaf(layer: keras.Layer) -> bool:
    return not isinstance(layer, keras.layers.InputLayer) and not layer._layers


def _output_dtype(model: keras.Model) -> str:
    from autotune.worker.child.build import output_dtypes

    found = set(output_dtypes(model))
    return "float32" if found == {"float32"} else sorted(found - {"float32"})[0]


def _layer(layer: keras.Layer, traced: step.TracedStep | None) -> LayerEffect:
    outputs = _outputs(layer, traced)
    return LayerEffect(
        name=layer.name,
        kind=type(layer).__name__,
        compute_dtype=str(layer.compute_dtype),
        variable_dtype=str(layer.variable_dtype),
        parameters=sum(math.prod(weight.shape) for weight in layer.weights),
        flops_per_example=_flops(layer, outputs),
        activations_per_example=outputs,
    )


def _outputs(layer: keras.Layer, traced: step.TracedStep | None) -> int | None:
    """Elements of the layer's outputs in a step, for one example; None where that is not known.

    Those of the traced step, which has seen every call; else of the one call that a functional model makes of it.
    """
    if traced is not None and (seen := traced.outputs_of(layer)) is not None:
        return seen
    try:
        output: Any = keras.tree.flatten(layer.output)[0]
    except (AttributeError, ValueError):  # a layer of a subclassed model, or one that is used more than once
        return None
    return math.prod(int(size or 1) for size in output.shape[1:])


def _flops(layer: keras.Layer, outputs: int | None) -> int | None:
    """Forward FLOPs for one example, a multiply-add counted as two; None where this is not known.

    A dense kernel is applied once per row of the output, a convolution's once per position of it.
    """
    kernel = getattr(layer, "kernel", None)
    if outputs == 0 or (kernel is None and (not layer.weights or isinstance(layer, _WITHOUT_PRODUCTS))):
        return 0
    plain = isinstance(layer, keras.layers.Dense) or type(layer).__name__ in _PLAIN_CONVOLUTIONS
    if kernel is None or outputs is None or not plain:
        return None
    return int(2 * math.prod(kernel.shape) * outputs // kernel.shape[-1])


def _placed_on(model: keras.Model) -> str:
    for variable in model.weights:
        device = str(getattr(variable.value, "device", ""))
        if "device:" in device:
            return device.split("device:")[1].split(":", maxsplit=1)[0]
    return framework.accelerator()
