"""What a training step really does, on models whose layers or steps say something else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.decide import health
from autotune.errors import TrialFault
from autotune.trial import Candidate, Effect, FailureKind, Products, TrainingRun, Xla
from autotune.worker.protocol import TrainArgs
from tests.worker import people

pytestmark = pytest.mark.slow

MAX_SKIPPED = 0.2

STEPS = '''
import keras
import tensorflow as tf
from keras import layers


class Casting(layers.Layer):
    """Says that it computes in 16 bit, and casts to float32."""

    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units))

    def call(self, x):
        return keras.ops.matmul(keras.ops.cast(x, "float32"), keras.ops.cast(self.kernel, "float32"))


def casting(*, widths, input_shape, num_classes):
    head = layers.Dense(num_classes, activation="softmax", dtype="float32")
    return keras.Sequential([keras.Input(input_shape), Casting(widths[0]), layers.ReLU(), head])


def casting_between(*, widths, input_shape, num_classes):
    body = [layers.Dense(widths[0]), Casting(widths[0]), layers.ReLU()]
    return keras.Sequential([keras.Input(input_shape), *body, layers.Dense(num_classes, dtype="float32")])


class OwnStep(keras.Model):
    scaled = True

    def __init__(self, width, num_classes):
        super().__init__()
        self.body = layers.Dense(width, activation="relu")
        self.head = layers.Dense(num_classes, activation="softmax", dtype="float32")

    def call(self, x):
        return self.head(self.body(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x))
            scaled = self.optimizer.scale_loss(loss) if self.scaled else loss
        weights = self.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(scaled, weights), weights))
        return {"loss": loss}


class Unscaled(OwnStep):
    scaled = False


class Delegating(OwnStep):
    def train_step(self, data):
        return keras.Model.train_step(self, data)


class WithinAFunction(OwnStep):
    @tf.function
    def inner(self, x, y):
        return OwnStep.train_step(self, (x, y))

    def train_step(self, data):
        return self.inner(*data)


class Overflowing(OwnStep):
    """Gradients that pass through a large number fit into float16 only at a low scale."""

    def __init__(self, width, num_classes):
        super().__init__(width, num_classes)
        self.large = self.add_weight(shape=(), initializer=keras.initializers.Constant(2000), trainable=False)

    def call(self, x):
        return self.head(self.body(x) / self.large * self.large)


class Silent(OwnStep):
    def train_step(self, data):
        return {"total": super().train_step(data)["loss"]}


class Diverging(OwnStep):
    def train_step(self, data):
        return {"loss": super().train_step(data)["loss"] * float("inf")}


class Unlike(keras.Model):
    """Layers that a functional model would show as another thing, or not at all."""

    def __init__(self, width, num_classes):
        super().__init__()
        self.series = layers.Reshape((4, 1))
        self.twice = layers.Dense(5, activation="relu")
        self.conv = layers.Conv1D(6, 3, padding="same", data_format="channels_last")
        self.recurrent = layers.LSTM(width, return_sequences=True)
        self.last = layers.GRU(width)
        self.unused = layers.Dropout(0.5)
        self.head = layers.Dense(num_classes, activation="softmax", dtype="float32")

    def call(self, x):
        x = self.twice(self.twice(self.series(x) * keras.ops.ones((1, 5))))
        return self.head(self.last(self.recurrent(self.conv(x))))


def shared(*, widths, input_shape, num_classes):
    inputs, dense = keras.Input(input_shape), layers.Dense(4)
    x = dense(dense(dense(inputs)))
    return keras.Model(inputs, layers.Dense(num_classes, activation="softmax", dtype="float32")(x))


def _builder(kind):
    def build(*, widths, input_shape, num_classes):
        return kind(widths[0], num_classes)

    return build


own, unscaled, delegating = _builder(OwnStep), _builder(Unscaled), _builder(Delegating)
within_a_function, overflowing = _builder(WithinAFunction), _builder(Overflowing)
silent, diverging, unlike = _builder(Silent), _builder(Diverging), _builder(Unlike)


def dropping(*, widths, input_shape, num_classes):
    body = [layers.Dense(widths[0]), layers.BatchNormalization(), layers.ReLU(), layers.Dropout(0.5)]
    return keras.Sequential([keras.Input(input_shape), *body, layers.Dense(num_classes, activation="softmax")])
'''


@pytest.fixture(autouse=True)
def _steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "steps.py").write_text(STEPS, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "steps", raising=False)


def run(candidate: Candidate, build: str, epochs: int = 2) -> TrainingRun:
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed
    from autotune.worker.child.train import Trainer

    config, dataset = people.config(build=build), people.dataset()
    trainer = Trainer(config, dataset, ModelBuilder(config, (4,), 3), Feed(dataset.train, 0))
    done: TrainingRun = trainer.train(TrainArgs(candidate, people.recipe(candidate, config, epochs=epochs), 0, None))
    return done


def effect_of(build: str, policy: str = "mixed_float16", **settings: Any) -> Effect:
    return run(people.candidate(policy, **settings), build, epochs=1).effect


# Batch 10: the body is (10, 4) x (4, 16) and its one gradient, the head (10, 16) x (16, 3) and its two.
BODY, HEAD = 2 * 10 * 4 * 16, 2 * 10 * 16 * 3


@pytest.mark.parametrize(
    "settings", [{}, {"xla": Xla.ON}, {"per_execution": 4}, {"xla": Xla.ON, "per_execution": 4}], ids=str
)
def test_products_of_one_step_whatever_runs_it(settings: dict[str, Any]) -> None:
    effect = effect_of("nets.mlp", **settings)
    assert effect.products == (Products("float32", 3, 3 * HEAD), Products("float16", 2, 2 * BODY))
    assert effect.is_traced
    assert effect.share_16bit == 2 * BODY / (2 * BODY + 3 * HEAD)


def test_flops_follow_the_batch() -> None:
    assert effect_of("nets.mlp", batch=20).products == (
        Products("float32", 3, 6 * HEAD),
        Products("float16", 2, 4 * BODY),
    )


@pytest.mark.parametrize("settings", [{}, {"xla": Xla.ON}, {"per_execution": 4}], ids=str)
def test_outputs_and_flops_of_layers_are_those_of_all_their_calls(settings: dict[str, Any]) -> None:
    """Of an example: a series of 4; a recurrent layer's outputs are its cell's, whose products only the step knows."""
    effect = effect_of("steps.unlike", "float32", **settings)
    found = {layer.kind: (layer.activations_per_example, layer.flops_per_example) for layer in effect.layers[:-1]}
    assert found == {
        "Reshape": (4, 0),
        "Dense": (2 * 4 * 5, 2 * (2 * 5 * 5 * 4)),
        "Conv1D": (4 * 6, 2 * 3 * 5 * 6 * 4),
        "LSTMCell": (4 * 16, None),
        "GRUCell": (16, None),
        "Dropout": (0, 0),
    }
    assert effect.activations_per_example == 4 + 40 + 24 + 64 + 16 + 3


def test_a_layer_that_a_functional_model_shares_counts_as_often_as_it_is_called() -> None:
    dense, head = effect_of("steps.shared", "float32").layers
    assert (dense.activations_per_example, dense.flops_per_example) == (3 * 4, 3 * 2 * 4 * 4)
    assert (head.activations_per_example, head.flops_per_example) == (3, 2 * 4 * 3)


def test_a_layer_that_casts_shows_as_what_it_casts_to() -> None:
    effect = effect_of("steps.casting")
    assert [layer.compute_dtype for layer in effect.layers] == ["float16", "float16", "float32"]
    assert effect.products == (Products("float32", 5, 2 * BODY + 3 * HEAD),)
    assert (effect.share_16bit, effect.effective_dtype) == (0.0, "float32")
    failure = health.departure(people.candidate("mixed_float16"), effect)
    assert failure is not None
    assert failure.kind is FailureKind.UNSUPPORTED
    assert "multiplies in float32 alone" in failure.message


def test_some_layers_may_cast() -> None:
    effect = effect_of("steps.casting_between", "mixed_bfloat16")
    assert [product.dtype for product in effect.products] == ["float32", "bfloat16"]
    assert 0 < effect.share_16bit < 0.2
    assert health.departure(people.candidate("mixed_bfloat16"), effect) is None


def test_a_model_that_was_not_trained_speaks_of_its_layers() -> None:
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.effect import inspect

    config, candidate = people.config(), people.candidate("mixed_float16")
    effect = inspect(ModelBuilder(config, (4,), 3).build(candidate, people.recipe(candidate, config), 0).model)
    assert (effect.products, effect.scales_loss, effect.is_traced) == ((), None, False)
    assert effect.share_16bit == pytest.approx(4 * 16 / (4 * 16 + 16 * 3))


def test_what_a_layer_puts_out_is_not_known_before_it_was_trained() -> None:
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.effect import inspect

    config, candidate = people.config(build="steps.own"), people.candidate()
    effect = inspect(ModelBuilder(config, (4,), 3).build(candidate, people.recipe(candidate, config), 0).model)
    assert {(layer.activations_per_example, layer.flops_per_example) for layer in effect.layers} == {(None, None)}
    assert effect.activations_per_example is None


def test_a_method_that_a_person_has_put_on_a_layer_is_still_there() -> None:
    import keras

    from autotune.worker.child.calls import heard

    layer = keras.layers.Dense(2)
    own = layer.__dict__["call"] = lambda x: x
    told: list[Any] = []
    with heard(keras.Sequential([layer]), lambda *noted: told.append(noted)):
        assert layer.call(3) == 3
    assert told == [(layer, ((3,), {}), 3)]
    assert layer.__dict__["call"] is own


def test_a_graph_that_cannot_be_read_fails_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    from autotune.worker.child import graph

    def unreadable(_: Any) -> Any:
        raise NotImplementedError("an operation of another world")

    monkeypatch.setattr(graph, "products", unreadable)
    effect = effect_of("nets.mlp")
    assert (effect.products, effect.is_traced) == ((), False)
    assert effect.scales_loss is True


@pytest.mark.parametrize(
    ("build", "own", "scales"),
    [
        ("nets.mlp", False, True),
        ("steps.own", True, True),
        ("steps.delegating", True, True),
        ("steps.within_a_function", True, True),
        ("steps.unscaled", True, False),
    ],
)
def test_own_training_steps_are_told_apart_by_whether_they_scale_their_loss(
    build: str, own: bool, scales: bool
) -> None:
    done = run(people.candidate("mixed_float16"), build)
    assert (done.effect.own_train_step, done.effect.loss_scaling, done.effect.scales_loss) == (own, True, scales)
    assert {product.dtype for product in done.effect.products} == {"float16", "float32"}
    failure = health.training_failure(done, MAX_SKIPPED)
    if scales:
        assert failure is None
    else:
        assert failure is not None
        assert failure.kind is FailureKind.INVALID
        assert "self.optimizer.scale_loss(loss)" in failure.message


def test_a_loss_that_is_not_scaled_hardly_trains_and_yet_nothing_else_shows_it() -> None:
    """SGD moves 32768 times less; the loss is finite, no step is skipped, the scale stays."""
    scaled, unscaled = (run(people.candidate("mixed_float16"), f"steps.{build}", 4) for build in ("own", "unscaled"))
    assert [done.loss_finite for done in (scaled, unscaled)] == [True, True]
    assert scaled.metric is not None
    assert unscaled.metric is not None
    assert scaled.metric > unscaled.metric + 0.1
    assert (unscaled.skipped_steps, unscaled.loss_scale) == (0, 32768)


def test_the_loss_of_a_step_that_feeds_no_metric_is_its_last() -> None:
    """Keras would tell the mean of its own loss metric, which is zero when nobody feeds it."""
    done = run(people.candidate(), "steps.own", 3)
    losses = [point.train_loss for point in done.curve]
    assert None not in losses
    assert losses[0] > losses[-1] > 0.1
    broken = run(people.candidate(), "steps.diverging")
    assert [point.train_loss for point in broken.curve] == [None], "no later epoch mends it"
    assert not broken.loss_finite


def test_a_step_that_returns_no_loss_says_what_to_return() -> None:
    with pytest.raises(TrialFault) as caught:
        run(people.candidate(), "steps.silent")
    assert caught.value.kind is FailureKind.INVALID
    assert caught.value.message == (
        "the model's own train_step must return a dict with its loss under 'loss', but got 'total'"
    )


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_without_a_loss_scaler_there_is_nothing_to_scale(policy: str) -> None:
    effect = effect_of("steps.unscaled", policy)
    assert (effect.own_train_step, effect.scales_loss) == (True, None)
    assert health.departure(people.candidate(policy), effect) is None


@pytest.mark.parametrize("per_execution", [1, 4])
def test_skipped_steps_and_the_scale_are_counted_by_epoch_for_a_persons_own_step(per_execution: int) -> None:
    done = run(people.candidate("mixed_float16", per_execution=per_execution), "steps.overflowing", epochs=3)
    skipped = [point.skipped_steps for point in done.curve]
    assert skipped[0] >= 3
    assert sum(skipped) == done.skipped_steps == 36 - done.iterations
    scale = 32768.0
    for point in done.curve:
        scale /= 2**point.skipped_steps
        assert point.loss_scale == scale
    assert done.loss_scale == scale


def test_a_training_that_skips_too_much_does_not_count_though_its_metric_is_fine() -> None:
    done = run(people.candidate("mixed_float16"), "steps.overflowing")
    assert done.metric is not None
    assert done.loss_finite
    assert done.loss_scale is not None
    assert done.loss_scale >= 1, "no collapse"
    allowed = (done.skipped_steps - 0.5) / done.recipe.total_steps
    failure = health.training_failure(done, allowed)
    assert failure is not None
    assert failure.kind is FailureKind.NAN
    assert f"skipped {done.skipped_steps} of 24 steps" in failure.message
    assert health.training_failure(done, (done.skipped_steps + 0.5) / done.recipe.total_steps) is None


@pytest.mark.parametrize("build", ["steps.dropping", "steps.own"])
def test_listening_changes_nothing_in_a_run(build: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights, statistics, the optimizer's state and the seeds of random layers, bit for bit."""
    from autotune.worker.child import step

    heard = _state_after_training(build)
    monkeypatch.setattr(step, "listen", lambda model: None)
    alone = _state_after_training(build)
    assert len(heard) == len(alone) > 8
    for ours, theirs in zip(heard, alone, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def _state_after_training(build: str) -> list[Any]:
    from autotune.worker.child import effect
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed

    config, candidate = people.config(build=build), people.candidate("mixed_float16")
    model = ModelBuilder(config, (4,), 3).build(candidate, people.recipe(candidate, config), 0).model
    batches = Feed(people.dataset().train, 0).batches(examples=120, batch_size=10, seed=0)
    for _ in range(2):  # inspected in between, as a probe is before the next block
        model.fit(batches, verbose=0, shuffle=False)
        effect.inspect(model)
    losses = model.evaluate(batches, verbose=0)
    return [np.asarray(value) for value in (*model.variables, *model.optimizer.variables, losses)]
