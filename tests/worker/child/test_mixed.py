"""16-bit models with some layers in float32: each layer as asked, however the model is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.decide import health
from autotune.errors import TrialFault
from autotune.trial import Candidate, FailureKind, Policy, Xla
from tests.worker import people

pytestmark = pytest.mark.slow

NETS = '''
import keras
from keras import layers


class Own(keras.Model):
    def __init__(self, num_classes):
        super().__init__()
        self.first, self.second = layers.Dense(8, name="first"), layers.Dense(8, name="second")
        self.last = layers.Dense(num_classes, activation="softmax", dtype="float32", name="class")

    def call(self, x):
        return self.last(self.second(self.first(x)))


def functional(*, widths, input_shape, num_classes):
    inputs = keras.Input(input_shape)
    x = layers.Dense(8, name="second")(layers.Dense(8, name="first")(inputs))
    return keras.Model(inputs, layers.Dense(num_classes, activation="softmax", name="class")(x))


def sequential(*, widths, input_shape, num_classes):
    made = [layers.Dense(8, name="first"), layers.Dense(8, name="second")]
    return keras.Sequential([keras.Input(input_shape), *made, layers.Dense(num_classes, name="class")])


def subclassed(*, widths, input_shape, num_classes):
    return Own(num_classes)


def within(*, widths, input_shape, num_classes):
    """Both layers are in a model within the model."""
    inner = keras.Sequential([keras.Input(input_shape), layers.Dense(8, name="first"), layers.Dense(8, name="second")])
    inputs = keras.Input(input_shape)
    return keras.Model(inputs, layers.Dense(num_classes, name="class", dtype="float32")(inner(inputs)))


def attentive(*, widths, input_shape, num_classes):
    """A layer that holds others."""
    inputs = keras.Input(input_shape)
    x = layers.Reshape((input_shape[0], 1), name="first")(inputs)
    x = layers.MultiHeadAttention(2, 4, name="second")(x, x)
    x = layers.Dense(8, name="third")(layers.Flatten()(x))
    return keras.Model(inputs, layers.Dense(num_classes, name="class", dtype="float32")(x))


def overflowing(*, widths, input_shape, num_classes):
    """Activations of some 1e6 between two layers: more than float16 holds, and small again behind them."""
    inputs = keras.Input(input_shape)
    x = layers.Dense(8, activation="tanh", name="quiet")(inputs)
    x = layers.Dense(8, kernel_initializer=keras.initializers.Constant(1e6), name="large")(x)
    x = layers.Rescaling(1e-6, name="small")(x)
    return keras.Model(inputs, layers.Dense(num_classes, activation="softmax", name="class")(x))


def unnamed(*, widths, input_shape, num_classes):
    made = [layers.Dense(8), layers.Dense(8)]
    return keras.Sequential([keras.Input(input_shape), *made, layers.Dense(num_classes)])


def own_dtype(*, widths, input_shape, num_classes):
    inputs = keras.Input(input_shape)
    x = layers.Dense(8, name="second")(layers.Dense(8, name="first", dtype="mixed_float16")(inputs))
    return keras.Model(inputs, layers.Dense(num_classes, name="class", dtype="float32")(x))
'''


@pytest.fixture(autouse=True)
def _nets(tmp_path: Path) -> None:
    """In the place of the person's own, in a module that they trust."""
    (tmp_path / "nets.py").write_text(NETS, encoding="utf-8")


def candidate(*layers: str, name: str = "mixed_float16") -> Candidate:
    return Candidate(Policy(name, layers), 10, Xla.OFF, (16,))


def built(net: str, asked: Candidate) -> Any:
    from autotune.worker.child.build import ModelBuilder

    config = people.config(build=f"nets.{net}")
    return ModelBuilder(config, (4,), 3).build(asked, people.recipe(asked, config), seed=5).model


def dtypes(model: Any) -> dict[str, str]:
    from autotune.worker.child import effect

    return {layer.name: layer.compute_dtype for layer in effect.inspect(model).layers}


@pytest.mark.parametrize("net", ["functional", "sequential", "subclassed", "within"])
@pytest.mark.parametrize(("name", "low"), [("mixed_float16", "float16"), ("mixed_bfloat16", "bfloat16")])
def test_each_layer_computes_in_what_was_asked(net: str, name: str, low: str) -> None:
    from autotune.worker.child import effect, mixed

    plain = built(net, candidate(name=name))
    [path] = [path for path in mixed.units(plain) if path.rpartition("/")[2] == "second"]
    asked = candidate(path, name=name)
    model = built(net, asked)
    assert dtypes(model) == {"first": low, "second": "float32", "class": "float32"}
    assert dtypes(plain) == {"first": low, "second": low, "class": "float32"}
    found = effect.inspect(model)
    assert health.departure(asked, found) is None
    assert found.loss_scaling is (low == "float16"), "of a map Keras itself adds none"
    for ours, theirs in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_a_layer_holds_is_part_of_it() -> None:
    model = built("attentive", candidate("second"))
    found = dtypes(model)
    assert (found.pop("third"), found.pop("first")) == ("float16", "float16")
    assert found.pop("flatten") == "float16"
    assert set(found.values()) == {"float32"}
    assert {"query", "key", "value", "attention_output"} <= set(found)


def test_nothing_is_cast_on_the_way_between_two_float32_layers() -> None:
    """Keras casts the input of a functional model's layer when it is first called, before it knows the layer's path."""
    x = people.arrays(10, 0)[0]
    outputs = {
        layers: built("overflowing", candidate(*layers)).predict(x, verbose=0)
        for layers in ((), ("large",), ("large", "small"))
    }
    pure = built("overflowing", candidate(name="float32")).predict(x, verbose=0)
    assert not np.isfinite(outputs[()]).all()
    assert not np.isfinite(outputs[("large",)]).all(), "what comes next takes its input in float16"
    np.testing.assert_allclose(outputs[("large", "small")], pure, atol=0.02)


def test_a_layer_has_one_name_whatever_was_built_before() -> None:
    for _ in range(2):
        assert list(dtypes(built("unnamed", candidate()))) == ["dense", "dense_1", "dense_2"]
    model = built("unnamed", candidate("dense_1"))
    assert list(dtypes(model).values()) == ["float16", "float32", "float32"]


def test_a_layer_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(TrialFault) as caught:
        built("functional", candidate("secnod"))
    assert caught.value.kind is FailureKind.INVALID
    assert caught.value.message == (
        "the model has no layer 'secnod' to keep in float32; its layers are first, second, class"
    )


def test_a_layer_with_a_dtype_of_its_own_cannot_be_kept() -> None:
    with pytest.raises(TrialFault) as caught:
        built("own_dtype", candidate("first"))
    assert caught.value.kind is FailureKind.UNSUPPORTED
    assert caught.value.message == "first cannot be kept in float32: it sets a dtype of its own"


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras under NumPy 2
def test_it_is_saved_and_loaded_as_it_is(tmp_path: Path) -> None:
    import keras

    x, model = people.arrays(10, 0)[0], built("overflowing", candidate("large", "small"))
    model.save(tmp_path / "model.keras")
    keras.config.set_dtype_policy("float32")
    loaded = keras.models.load_model(tmp_path / "model.keras", compile=False)
    assert {layer.name: layer.compute_dtype for layer in loaded.layers[1:]} == dtypes(model)
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
