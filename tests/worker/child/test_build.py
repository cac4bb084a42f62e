"""Compiled models: the traps of precision that their owner need not know, and the mistakes of a builder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autotune.config.train import TrainConfig
from autotune.decide import health
from autotune.errors import AutotuneError, ConfigError, TrialFault
from autotune.trial import FailureKind, Xla
from tests.worker import people

pytestmark = pytest.mark.slow

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")


def built(name: str, policy: str = "mixed_float16", train: TrainConfig | None = None, **kw: Any) -> Any:
    from autotune.worker.child.build import ModelBuilder

    config = people.config(build=f"nets.{name}", train=train)
    candidate = people.candidate(policy, **kw)
    return ModelBuilder(config, (4,), 3).build(candidate, people.recipe(candidate, config), seed=5).model


def effect_of(model: Any) -> Any:
    from autotune.worker.child import effect

    return effect.inspect(model)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["mlp", "sequential"])
def test_a_16_bit_output_is_made_float32_with_the_same_weights(name: str, policy: str) -> None:
    """Weights are drawn alike under every policy; the mended model has those of the one that was built."""
    reference, model = built(name, "float32"), built(name, policy)
    effect = effect_of(model)
    assert effect.output_dtype == "float32"
    assert [layer.compute_dtype for layer in effect.layers] == [policy.removeprefix("mixed_"), "float32"]
    assert {layer.variable_dtype for layer in effect.layers} == {"float32"}
    for ours, theirs in zip(model.get_weights(), reference.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["mlp", "sequential", "without_input", "subclassed"])
def test_loss_is_scaled_for_float16_and_for_nothing_else(name: str) -> None:
    """However the model is made: one without an Input has no weights before its first step, unless it is built."""
    effects = {policy: effect_of(built(name, policy)) for policy in POLICIES}
    assert {policy: effect.loss_scaling for policy, effect in effects.items()} == {
        "float32": False,
        "mixed_bfloat16": False,
        "mixed_float16": True,
    }
    assert {effect.optimizer for effect in effects.values()} == {"SGD"}
    assert {effect.output_dtype for effect in effects.values()} == {"float32"}
    assert all(health.departure(people.candidate(policy), effect) is None for policy, effect in effects.items())


def test_a_model_without_an_input_has_its_weights_before_the_first_step() -> None:
    assert [weight.shape for weight in built("without_input").get_weights()] == [(4, 16), (16,), (16, 3), (3,)]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("subclassed_16_bit", "HeadFirst is a class of its own"),
        ("nested", "it comes from a model within the model"),
        ("ending_in_an_operation", "Softmax"),
    ],
)
def test_a_16_bit_output_that_cannot_be_mended_says_what_to_do(name: str, why: str) -> None:
    with pytest.raises(TrialFault) as caught:
        built(name)
    assert caught.value.kind is FailureKind.INVALID
    assert caught.value.message.startswith('the model\'s output is 16-bit; give its last layer dtype="float32"')
    assert why in caught.value.message
    assert effect_of(built(name, "float32")).output_dtype == "float32"


def test_layers_that_are_all_float32_are_not_called_float16() -> None:
    effect = effect_of(built("all_float32"))
    assert (effect.share_16bit, effect.effective_dtype) == (0.0, "float32")
    failure = health.departure(people.candidate("mixed_float16"), effect)
    assert failure is not None
    assert failure.kind is FailureKind.UNSUPPORTED


@pytest.mark.parametrize(("xla", "in_force"), [(Xla.ON, True), (Xla.OFF, False), (Xla.AUTO, False)])
def test_xla_as_in_force(xla: Xla, in_force: bool) -> None:
    """`auto` is off on a CPU."""
    import tensorflow as tf

    if xla is Xla.AUTO and tf.config.list_physical_devices("GPU"):
        pytest.skip("auto is on on a GPU")
    assert effect_of(built("mlp", xla=xla)).xla is in_force


def test_flops_and_parameters_of_the_effect() -> None:
    effect = effect_of(built("mlp"))
    assert [layer.parameters for layer in effect.layers] == [4 * 16 + 16, 16 * 3 + 3]
    assert [layer.flops_per_example for layer in effect.layers] == [2 * 4 * 16, 2 * 16 * 3]
    assert [layer.activations_per_example for layer in effect.layers] == [16, 3]
    assert effect.share_16bit == pytest.approx(128 / 224)


def test_one_seed_is_one_set_of_weights() -> None:
    from autotune.worker.child.build import ModelBuilder

    config, candidate = people.config(), people.candidate()
    builder = ModelBuilder(config, (4,), 3)
    first, again, other = (
        builder.build(candidate, people.recipe(candidate, config), seed).model.get_weights()[0] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("raising", FailureKind.INVALID, "the builder nets.raising failed: KeyError: 'no such block'"),
        ("nothing", FailureKind.INVALID, "the builder nets.nothing must return a keras.Model, but got NoneType"),
        ("huge", FailureKind.OOM, "the builder nets.huge failed: MemoryError: Unable to allocate"),
    ],
)
def test_a_builder_that_fails(name: str, kind: FailureKind, said: str) -> None:
    with pytest.raises(TrialFault) as caught:
        built(name)
    assert caught.value.kind is kind
    assert caught.value.message.startswith(said)


@pytest.mark.parametrize(
    ("name", "train", "said"),
    [
        ("without_num_classes", TrainConfig(), "unexpected keyword argument 'num_classes'"),
        ("mpl", TrainConfig(), "did you mean nets.mlp?"),
        ("mlp", TrainConfig(loss="cross_entropy"), "train.loss must name a Keras loss or be auto, but got 'cross_ent"),
        ("mlp", TrainConfig(optimizer_args={"momentun": 0.9}), "train.optimizer_args do not fit the optimizer sgd"),
    ],
)
def test_a_persons_mistake_is_one_line(name: str, train: TrainConfig, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        built(name, train=train)
    assert said in str(caught.value)
    assert issubclass(caught.type, AutotuneError)
    assert "\n" not in str(caught.value)


def test_the_loss_follows_the_targets() -> None:
    from autotune.worker.child.build import ModelBuilder

    candidate, config = people.candidate(), people.config(build="nets.all_float32")
    recipe = people.recipe(candidate, config)
    classes = ModelBuilder(config, (4,), 3).build(candidate, recipe, 0).model
    regression = ModelBuilder(config, (4,), None).build(candidate, recipe, 0).model
    assert (classes.loss.__name__, regression.loss.__name__) == (
        "sparse_categorical_crossentropy",
        "mean_squared_error",
    )
    assert (classes.output_shape, regression.output_shape) == ((None, 3), (None, 1))


@pytest.mark.parametrize("target", ["nets.mlp", "autotune.models.cifar.cnn", "autotune.models.digits.mlp"])
def test_a_softmax_over_one_unit_is_refused(target: str) -> None:
    """A builder for classes, given a regression: it would train to no end and its every candidate pass."""
    from autotune.worker.child.build import ModelBuilder

    config, candidate = people.config(build=target), people.candidate()
    with pytest.raises(TrialFault, match=r"ends in a softmax over one unit.*bring a builder of your own") as caught:
        ModelBuilder(config, (4, 4, 1), None).build(candidate, people.recipe(candidate, config), 0)
    assert caught.value.kind is FailureKind.INVALID


def test_tf32_is_switched_before_a_model_is_built_and_back_again() -> None:
    """Whatever the device: on one that has none, nothing hangs on it."""
    import tensorflow as tf

    enabled = tf.config.experimental.tensor_float_32_execution_enabled
    config = people.config()
    try:
        for asked, expected in ((False, False), (None, True), (True, True), (False, False)):
            candidate = replace(people.candidate(), tf32=asked)
            _builder(config).build(candidate, people.recipe(candidate, config), 0)
            assert enabled() is expected
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(True)


@pytest.mark.parametrize("capability", [(7, 5), (8, 0)])
def test_tf32_in_force_is_the_switch_where_the_device_has_it(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int]
) -> None:
    import tensorflow as tf

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: ["gpu"] if kind == "GPU" else [])
    details = {"compute_capability": capability}
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda _: details)
    config = people.config()
    try:
        for asked in (False, True):
            candidate = replace(people.candidate(), tf32=asked)
            effect = effect_of(_builder(config).build(candidate, people.recipe(candidate, config), 0).model)
            assert effect.tf32 is (asked if capability >= (8, 0) else None)
            assert health.departure(candidate, effect) is None
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(True)


def _builder(config: Any) -> Any:
    from autotune.worker.child.build import ModelBuilder

    return ModelBuilder(config, (4,), 3)
