"""What is in force in a compiled model, as against what was asked of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import keras

from autotune.trial import Effect, LayerEffect, Pipeline
from autotune.worker.child import framework, step
from autotune.worker.child.accumulate import accumulating


def inspect(model: keras.Model) -> Effect:
    """The effect of a compiled, built model; what its training step really does shows once it was trained."""
    optimizer = model.optimizer
    scaled = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    traced = step.traced(model)
    parts = accumulating(optimizer)
    return Effect(
        xla=bool(model.jit_compile),  # `compile` has resolved auto, and downgraded True where a layer forbids it
        layers=tuple(_layer(layer) for layer in model._flatten_layers(include_self=False) if _is_leaf(layer)),
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


def _layer(layer: keras.Layer) -> LayerEffect:
    shape = _output_shape(layer)
    return LayerEffect(
        name=layer.name,
        kind=type(layer).__name__,
        compute_dtype=str(layer.compute_dtype),
        variable_dtype=str(layer.variable_dtype),
        parameters=sum(math.prod(weight.shape) for weight in layer.weights),
        flops_per_example=_flops(layer, shape),
        activations_per_example=math.prod(shape) if shape else 0,
    )


def _output_shape(layer: keras.Layer) -> tuple[int, ...]:
    """Shape of the layer's output for one example; unknown lengths count as 1."""
    try:
        output: Any = keras.tree.flatten(layer.output)[0]
    except (AttributeError, ValueError):  # a layer of a subclassed model, or one that is used more than once
        return ()
    return tuple(size or 1 for size in output.shape[1:])


def _flops(layer: keras.Layer, output_shape: tuple[int, ...]) -> int | None:
    """Forward FLOPs for one example, a multiply-add counted as two; None where this is not known.

    A dense kernel is applied once per row of the output, a convolution's once per position of it.
    """
    kernel = getattr(layer, "kernel", None)
    if kernel is None:
        return 0 if not layer.weights or isinstance(layer, keras.layers.BatchNormalization) else None
    if isinstance(layer, keras.layers.Dense):
        return int(2 * math.prod(kernel.shape) * math.prod(output_shape[:-1]))
    if type(layer).__name__ in ("Conv1D", "Conv2D", "Conv3D"):
        channels_first = layer.data_format == "channels_first"
        positions = output_shape[1:] if channels_first else output_shape[:-1]
        return int(2 * math.prod(kernel.shape) * math.prod(positions))
    return None


def _placed_on(model: keras.Model) -> str:
    for variable in model.weights:
        device = str(getattr(variable.value, "device", ""))
        if "device:" in device:
            return device.split("device:")[1].split(":", maxsplit=1)[0]
    return framework.accelerator()
