"""Models for 32x32 colour images, ten classes (CIFAR-10)."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import layers


def mlp(*, widths: Sequence[int], input_shape: tuple[int, ...] = (32, 32, 3), num_classes: int = 10) -> keras.Model:
    """The 3072-3000-1000-10 perceptron whose mixed-precision step got slower on an RTX 2060.

    Args:
        widths: units of each hidden layer, (3000, 1000) in the public question.
        input_shape: shape of one example.
        num_classes: number of classes.

    Returns:
        A model from images to class probabilities (float32). With the widths above it has
        12,230,010 parameters and spends 24.5 MFLOP on an example, forward.
    """
    inputs = keras.Input(input_shape, name="image")
    x = layers.Flatten(name="flatten")(inputs)
    for number, units in enumerate(widths, start=1):
        x = layers.Dense(units, activation="relu", name=f"hidden_{number}")(x)
    outputs = layers.Dense(num_classes, activation="softmax", dtype="float32", name="class")(x)
    return keras.Model(inputs, outputs, name="cifar_mlp")


def cnn(
    *,
    widths: Sequence[int],
    input_shape: tuple[int, ...] = (32, 32, 3),
    num_classes: int = 10,
    depth: int = 1,
) -> keras.Model:
    """A small convolutional network with batch normalisation.

    A stage is `depth` times (3x3 convolution, normalisation, ReLU) and a 2x2 max pooling; then the mean over the
    image and one dense layer. A convolution has no bias, because the normalisation after it would remove it, and the
    normalisation's averages move by a tenth a step, so that they settle within a short training.

    Args:
        widths: channels of each stage, such as (32, 64, 128). A stage halves height and width.
        input_shape: height, width and channels of one image.
        num_classes: number of classes.
        depth: convolutions in a stage.

    Returns:
        A model from images to class probabilities (float32). With the widths above and depth 1 it
        has 95,210 parameters and spends 20.6 MFLOP on an example, forward.
    """
    inputs = keras.Input(input_shape, name="image")
    x = inputs
    for stage, channels in enumerate(widths, start=1):
        for block in range(1, depth + 1):
            suffix = f"{stage}_{block}"
            x = layers.Conv2D(channels, 3, padding="same", use_bias=False, name=f"conv_{suffix}")(x)
            x = layers.BatchNormalization(momentum=0.9, name=f"norm_{suffix}")(x)
            x = layers.ReLU(name=f"relu_{suffix}")(x)
        x = layers.MaxPooling2D(name=f"pool_{stage}")(x)
    x = layers.GlobalAveragePooling2D(name="mean")(x)
    outputs = layers.Dense(num_classes, activation="softmax", dtype="float32", name="class")(x)
    return keras.Model(inputs, outputs, name="cifar_cnn")
