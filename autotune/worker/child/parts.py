"""What one layer brings to a traced step, as it is counted, and as a fact at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import keras
import tensorflow as tf

from autotune.trial.anatomy import OUTSIDE, Constant, LayerAnatomy, Product


@dataclass
class Part:
    """What one layer has brought so far.

    Attributes:
        layer: the layer, or a name where it is none, such as the loss.
        weights: how many elements its weights have; None where everything counts as a weight.
        prime: what the size of every tensor that grows with the batch is a multiple of; None where nobody knows, and
            `weights` must tell.
    """

    layer: Any = None
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    products: list[Product] = field(default_factory=list)
    operations: int = 0
    weight_bytes: int = 0
    batch_bytes: int = 0
    weights: frozenset[int] | None = None
    casts: int = 0
    float64: int = 0
    python: int = 0
    softmax: list[str] = field(default_factory=list)
    constants: dict[tuple[float | None, str], None] = field(default_factory=dict)
    prime: int | None = None

    def is_weight(self, elements: int) -> bool:
        """Whether a tensor of so many elements is as large whatever the batch."""
        if self.prime is not None:
            return elements % self.prime != 0
        return self.weights is None or elements in self.weights


def tensors(value: Any) -> list[Any]:
    """The tensors of known rank in anything nested."""
    return [one for one in keras.tree.flatten(value) if isinstance(one, tf.Tensor) and one.shape.rank is not None]


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(int(size or 1) for size in tensor.shape)


def layer_anatomy(part: Part, name: str) -> LayerAnatomy:
    """The facts of a layer, or of what stands beside the layers, under a name that no other part has."""
    layer, named = part.layer, isinstance(part.layer, str)
    floating = [tensor for tensor in part.inputs if tensor.dtype.is_floating]
    return LayerAnatomy(
        name=name,
        kind=OUTSIDE if named else type(layer).__name__,
        own=not named and not type(layer).__module__.startswith("keras."),
        compute_dtype="" if named else str(layer.compute_dtype),
        variable_dtype="" if named else str(layer.variable_dtype),
        inputs=tuple(_shape(tensor) for tensor in part.inputs),
        output=_shape(part.outputs[0]) if part.outputs else (),
        input_dtypes=tuple(tensor.dtype.name for tensor in (floating or part.inputs)),
        output_dtype=part.outputs[0].dtype.name if part.outputs else "",
        parameters=0 if named else elements(own_weights(layer)),
        trainable=0 if named else elements([weight for weight in own_weights(layer) if weight.trainable]),
        settings={} if named else _settings(layer),
        products=tuple(part.products),
        operations=part.operations,
        weight_bytes=part.weight_bytes,
        batch_bytes=part.batch_bytes,
        casts=part.casts,
        float64=part.float64,
        python=part.python,
        softmax_dtypes=tuple(part.softmax),
        constants=tuple(Constant(value, dtype) for value, dtype in part.constants),
        compiles=True if named else bool(getattr(layer, "supports_jit", True)),
    )


def at_batch(layer: LayerAnatomy, traced: int, own: int) -> LayerAnatomy:
    """The facts of a layer that was traced for one batch, as another has them.

    Args:
        traced: a batch that no other length is a multiple of.
        own: that the facts are wanted for.
    """
    if traced == own:
        return layer

    def scaled(shape: tuple[int, ...]) -> tuple[int, ...]:
        return (shape[0] // traced * own, *shape[1:]) if shape and shape[0] % traced == 0 else shape

    return replace(
        layer,
        inputs=tuple(map(scaled, layer.inputs)),
        output=scaled(layer.output),
        products=tuple(product.grown(own / traced) for product in layer.products),
        batch_bytes=round(layer.batch_bytes * own / traced),
    )


def own_weights(layer: keras.Layer) -> list[Any]:
    """Of the layer itself: those of layers within it are theirs, except of recurrent cells, which are not called."""
    inner = [one for one in layer._flatten_layers(include_self=False) if one is not layer]
    if isinstance(layer, keras.layers.RNN) or not inner:
        return list(layer.weights)
    theirs = {id(weight) for one in inner for weight in one.weights}
    return [weight for weight in layer.weights if id(weight) not in theirs]


def elements(weights: list[Any]) -> int:
    """In all of these together."""
    return sum(math.prod(int(length) for length in weight.shape) for weight in weights)


def _settings(layer: keras.Layer) -> dict[str, Any]:
    """The plain entries of the configuration; a layer of a person's own may not be able to tell them.

    Keras 3.15 leaves `use_cudnn` out of the configuration of LSTM and GRU.
    """
    try:
        config = layer.get_config()
    except Exception:  # noqa: BLE001 (a person's own get_config can raise anything, and none is needed)
        return {}
    told = {**config, "use_cudnn": vars(layer)["use_cudnn"]} if "use_cudnn" in vars(layer) else config
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in told.items()}
    return {key: value for key, value in plain.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(entry, int) for entry in value)
    return value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and value == value)
