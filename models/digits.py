"""Models for small grey images of handwritten digits, ten classes."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import layers


def mlp(*, widths: Sequence[int], input_shape: tuple[int, ...] = (28, 28, 1), num_classes: int = 10) -> keras.Model:
    """The perceptron of Keras's mixed-precision guide: 784-4096-4096-10, or 64 units on a CPU.

    Args:
        widths: units of each hidden layer.
        input_shape: shape of one example.
        num_classes: number of classes.

    Returns:
        A model from images to class probabilities (float32). With widths of (4096, 4096) it has
        20,037,642 parameters.
    """
    inputs = keras.Input(input_shape, name="image")
    x = layers.Flatten(name="flatten")(inputs)
    for number, units in enumerate(widths, start=1):
        x = layers.Dense(units, activation="relu", name=f"hidden_{number}")(x)
    outputs = layers.Dense(num_classes, activation="softmax", dtype="float32", name="class")(x)
    return keras.Model(inputs, outputs, name="digits_mlp")
