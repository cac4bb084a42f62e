"""Small models, each with one fault, and sound ones beside them; builders as a person would write them."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import layers, ops


def head(x: Any, num_classes: int) -> Any:
    return layers.Dense(num_classes, activation="softmax", dtype="float32", name="head")(x)


def of(inputs: Any, outputs: Any) -> keras.Model:
    return keras.Model(inputs, outputs)


def hidden(input_shape: tuple[int, ...], units: int = 16, **kwargs: Any) -> tuple[Any, Any]:
    inputs = keras.Input(input_shape)
    return inputs, layers.Dense(units, activation="relu", name="hidden", **kwargs)(inputs)


def sound(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape)
    return of(inputs, head(layers.Dense(16, activation="relu", name="second")(x), num_classes))


def plain_head(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape)
    return of(inputs, layers.Dense(num_classes, activation="softmax", name="head")(x))


def softmax_in_policy(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape)
    x = layers.Dense(num_classes, activation="softmax", name="probabilities")(x)
    return of(inputs, layers.Activation("linear", dtype="float32", name="cast")(x))


def all_float32(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape, dtype="float32")
    return of(inputs, head(x, num_classes))


def one_float32(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape)
    return of(inputs, head(layers.Dense(16, dtype="float32", name="full")(x), num_classes))


def float32_between(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape, 64)
    x = layers.Activation("gelu", dtype="float32", name="between")(x)
    return of(inputs, head(layers.Dense(16, name="after")(x), num_classes))


class Own(layers.Layer):
    """Does what its function says."""

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self.function = function

    def call(self, x):
        return self.function(self, x)

    def get_config(self):
        return {**super().get_config(), "function": self.function}


def with_own(function: Any, *, units: int = 16) -> Any:
    def build(*, widths, input_shape, num_classes):
        inputs, x = hidden(input_shape, units)
        return of(inputs, head(layers.Dense(16, name="after")(Own(function, name="own")(x)), num_classes))

    return build


own_casts = with_own(lambda self, x: ops.cast(ops.tanh(ops.cast(x, "float32")), self.compute_dtype))
own_sound = with_own(lambda self, x: ops.tanh(x))
overflowing = with_own(lambda self, x: ops.minimum(x, ops.cast(1e6, x.dtype)))
masked = with_own(lambda self, x: ops.softmax(x + ops.cast(x > 0, x.dtype) * -1e9))
mask_sound = with_own(lambda self, x: ops.softmax(x + ops.cast(x > 0, x.dtype) * -3e4))
vanishing = with_own(lambda self, x: ops.log(x + 1e-8))
epsilon_sound = with_own(lambda self, x: ops.log(x + 1e-3))
in_float64 = with_own(lambda self, x: ops.cast(ops.exp(ops.cast(x, "float64")), self.compute_dtype))
undefined = with_own(lambda self, x: ops.log(-1.0 - x))
tiny = with_own(lambda self, x: x * 1e-9)
little = with_own(lambda self, x: x * 1e-6)
hardly = with_own(lambda self, x: x * 1e-13)
cut_off = with_own(lambda self, x: ops.stop_gradient(x))
in_python = with_own(lambda self, x: tf.ensure_shape(tf.numpy_function(lambda v: v * 2, [x], x.dtype), x.shape))


def weights_in_float16(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape, dtype="float16")
    return of(inputs, head(x, num_classes))


def only_float32(*, widths, input_shape, num_classes):
    if keras.config.dtype_policy().name != "float32":
        raise ValueError("this model knows no other policy")
    return sound(widths=widths, input_shape=input_shape, num_classes=num_classes)


_KEPT: list[keras.Model] = []


def reused(*, widths, input_shape, num_classes):
    if not _KEPT:
        _KEPT.append(sound(widths=widths, input_shape=input_shape, num_classes=num_classes))
    return _KEPT[0]


def huge_weights(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape, kernel_initializer=keras.initializers.Constant(1e5))
    x = layers.LayerNormalization(name="norm")(x)
    return of(inputs, head(x, num_classes))


class Block(layers.Layer):
    """Its layers' names are its own, and those of every other block."""

    def __init__(self, units: int, initializer: Any = "glorot_uniform", **kwargs: Any):
        super().__init__(**kwargs)
        self.fc = layers.Dense(units, kernel_initializer=initializer, name="fc")
        self.norm = layers.LayerNormalization(name="norm")

    def call(self, x):
        return self.norm(self.fc(x))


def blocks(*, widths, input_shape, num_classes):
    """The first block overflows float16, the second does not, and the output is one more layer of that name."""
    inputs = keras.Input(input_shape)
    x = Block(8)(Block(64, keras.initializers.Constant(1e5))(inputs))
    return of(inputs, layers.Dense(num_classes, activation="softmax", dtype="float32", name="fc")(x))


class OwnStep(keras.Model):
    """Trains by hand; `scaled`, `clipped` and `half` say how."""

    scaled, clipped, half = True, False, False

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            if self.half:
                loss = ops.mean(ops.square(predicted - ops.cast(ops.one_hot(y, 3), predicted.dtype)))
            else:
                loss = self.compute_loss(x, y, predicted)
            target = self.optimizer.scale_loss(loss) if self.scaled else loss
        gradients = tape.gradient(target, self.trainable_variables)
        if self.clipped:
            gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


class Unscaled(OwnStep):
    scaled = False


class Clipped(OwnStep):
    clipped = True


class Half(OwnStep):
    half = True


def stepping(kind: type[keras.Model], *, head_dtype: str | None = "float32") -> Any:
    def build(*, widths, input_shape, num_classes):
        inputs, x = hidden(input_shape)
        return kind(inputs, layers.Dense(num_classes, activation="softmax", dtype=head_dtype, name="head")(x))

    return build


own_step = stepping(OwnStep)
unscaled_step = stepping(Unscaled)
clipped_step = stepping(Clipped)
half_step = stepping(Half, head_dtype=None)


def ending(*tail: Any) -> Any:
    def build(*, widths, input_shape, num_classes):
        inputs, x = hidden(input_shape)
        for make in tail:
            x = make(num_classes)(x)
        return of(inputs, x)

    return build


sigmoids = ending(lambda n: layers.Dense(n, activation="sigmoid", dtype="float32", name="head"))
logits = ending(lambda n: layers.Dense(n, dtype="float32", name="head"))
twice = ending(
    lambda n: layers.Dense(n, activation="softmax", name="first"),
    lambda n: layers.Softmax(dtype="float32", name="head"),
)
too_few = ending(lambda n: layers.Dense(n - 1, activation="softmax", dtype="float32", name="head"))
regression = ending(lambda n: layers.Dense(1, dtype="float32", name="head"))


def compiled_otherwise(*, widths, input_shape, num_classes):
    model = sound(widths=widths, input_shape=input_shape, num_classes=num_classes)
    model.compile(optimizer="rmsprop", loss="kl_divergence")
    return model


def compiled_alike(*, widths, input_shape, num_classes):
    model = sound(widths=widths, input_shape=input_shape, num_classes=num_classes)
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    return model


def eager(*, widths, input_shape, num_classes):
    model = sound(widths=widths, input_shape=input_shape, num_classes=num_classes)
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", run_eagerly=True)
    return model


def of_width(units: int) -> Any:
    def build(*, widths, input_shape, num_classes):
        inputs, x = hidden(input_shape, units)
        return of(inputs, head(x, num_classes))

    return build


width_1003, width_1008 = of_width(1003), of_width(1008)


def with_embedding(size: int) -> Any:
    def build(*, widths, input_shape, num_classes):
        inputs = keras.Input(input_shape)
        x = layers.Embedding(size, 8, name="tokens")(inputs)
        return of(inputs, head(layers.GlobalAveragePooling1D()(x), num_classes))

    return build


embedding_5003, embedding_5008 = with_embedding(5003), with_embedding(5008)


def ids_through_a_layer(*, widths, input_shape, num_classes):
    inputs = keras.Input(input_shape)
    x = layers.Reshape((5, 2))(inputs)
    x = layers.Embedding(5008, 8, name="tokens")(x)
    return of(inputs, head(layers.GlobalAveragePooling2D()(x), num_classes))


def converting(*make: Any, first: Any = None) -> Any:
    def build(*, widths, input_shape, num_classes):
        inputs = keras.Input(input_shape)
        x = inputs
        for one in make:
            x = one()(x)
        return of(inputs, head(layers.GlobalAveragePooling2D()(x), num_classes))

    return build


three_channels = converting(lambda: layers.Conv2D(8, 3, name="first"))
many_channels = converting(
    lambda: layers.Conv2D(8, 1, name="first"),
    lambda: layers.Conv2D(64, 3, name="second"),
    lambda: layers.Conv2D(128, 3, name="third"),
)
depthwise = converting(lambda: layers.DepthwiseConv2D(5, depth_multiplier=8, name="deep"))
rescaling = converting(lambda: layers.Rescaling(1 / 255, name="pixels"), lambda: layers.Conv2D(8, 3))
rescaling_sound = converting(lambda: layers.Rescaling(1 / 255, dtype="float32"), lambda: layers.Conv2D(8, 3))
flipping = converting(lambda: layers.RandomFlip(name="flip"), lambda: layers.Conv2D(8, 3))
normalised = converting(
    lambda: layers.Conv2D(16, 3, name="first"),
    lambda: layers.BatchNormalization(name="norm"),
    lambda: layers.ReLU(name="relu"),
)


class NoXla(layers.Dense):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.supports_jit = False


def without_xla(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape)
    return of(inputs, head(NoXla(16, name="stubborn")(x), num_classes))


def recurrent(**settings: Any) -> Any:
    def build(*, widths, input_shape, num_classes):
        inputs = keras.Input(batch_shape=(32, *input_shape))
        return of(inputs, head(layers.LSTM(8, name="cells", **settings)(inputs), num_classes))

    return build


lstm = recurrent()
lstm_dropping = recurrent(recurrent_dropout=0.2)
lstm_stateful = recurrent(stateful=True)
lstm_refusing = recurrent(use_cudnn=False)


def _chain(self, x):
    for _ in range(300):
        x = ops.tanh(x)
    return x


many_operations = with_own(_chain)


def wide(*, widths, input_shape, num_classes):
    inputs, x = hidden(input_shape, 1024)
    return of(inputs, head(layers.Dense(1024, activation="relu", name="second")(x), num_classes))
