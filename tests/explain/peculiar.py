"""Sound models, whole nets among them, that are built in ways which taking a model apart has to cope with."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from tests.explain.faulty import head, hidden, of


def nameless(*, widths, input_shape, num_classes):
    inputs = keras.Input(input_shape)
    return of(inputs, layers.Dense(num_classes, "softmax")(layers.Dense(8, "relu")(inputs)))


def application(name: str) -> Any:
    """One of Keras's own, whole, as it is."""

    def build(*, widths, input_shape, num_classes):
        return getattr(keras.applications, name)(weights=None, input_shape=input_shape, classes=num_classes)

    return build


mobilenet, vgg16, resnet50 = (application(name) for name in ("MobileNet", "VGG16", "ResNet50"))


def residual(*, widths, input_shape, num_classes):
    """The first blocks of a ResNet."""
    inputs = keras.Input(input_shape)
    x = layers.Conv2D(64, 3, padding="same", use_bias=False)(inputs)
    for filters, strides in ((64, 1), (64, 1), (128, 2)):
        y = layers.ReLU()(layers.BatchNormalization()(x))
        y = layers.Conv2D(filters, 3, strides, padding="same", use_bias=False)(y)
        y = layers.Conv2D(filters, 3, padding="same")(layers.ReLU()(layers.BatchNormalization()(y)))
        same = strides == 1
        x = layers.Add()([y, x if same else layers.Conv2D(filters, 1, strides)(x)])
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(x))
    return of(inputs, layers.Dense(num_classes, activation="softmax")(x))


def swish(*, widths, input_shape, num_classes):
    """A function that brings its own gradient, and code between layers."""
    inputs = keras.Input(input_shape)
    x = layers.Conv2D(32, 3, activation="silu", name="first")(inputs)
    x = ops.matmul(ops.transpose(x, (0, 1, 3, 2)), ops.multiply(x, 2.0))
    return of(inputs, head(layers.Flatten()(x), num_classes))


def einsum(*, widths, input_shape, num_classes):
    inputs = keras.Input(input_shape)
    x = layers.EinsumDense("...x,xy->...y", output_shape=8, name="shared")(inputs)
    return of(inputs, head(layers.Flatten()(x), num_classes))


def regularised(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape, kernel_regularizer="l2")
    return of(inputs, head(x, num_classes))


def alone(*, widths, input_shape, num_classes):
    """Takes a batch of 32 and no other."""
    inputs = keras.Input(batch_shape=(32, *input_shape))
    return of(inputs, head(layers.Dense(16, name="hidden")(inputs), num_classes))


def zero_head(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape)
    return of(inputs, layers.Dense(num_classes, kernel_initializer="zeros", dtype="float32", name="head")(x))


def _compiled_with(loss: Any) -> Any:
    def build(*, widths, input_shape, num_classes):
        inputs, x = hidden(input_shape)
        model = of(inputs, layers.Dense(1, dtype="float32", name="head")(x))
        model.compile(optimizer="adam", loss=loss)
        return model

    return build


compiled_short = _compiled_with("mse")
compiled_object = _compiled_with(keras.losses.MeanSquaredError())
compiled_lambda = _compiled_with(lambda y, p: ops.mean(p - y))
compiled_logits = _compiled_with(keras.losses.BinaryCrossentropy(from_logits=True))
