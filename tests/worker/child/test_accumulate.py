"""Gradient accumulation: one step of several micro-batches is the step of the whole batch, in all that counts steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.config.train import Schedule, TrainConfig
from autotune.decide import health
from autotune.trial import Candidate, TrainingRun, Xla
from autotune.worker.protocol import ProbeArgs, TrainArgs
from tests.worker import people

pytestmark = pytest.mark.slow

STEPS = {"learning_rate": 0.2, "schedule": Schedule.step, "step_boundaries": [2, 5], "step_factor": 0.5}
TRAININGS = {
    "sgd, cosine, warm-up": {"optimizer": "sgd", "learning_rate": 0.2, "warmup_steps": 3},
    "sgd, momentum, steps": {"optimizer": "sgd", "optimizer_args": {"momentum": 0.9}, **STEPS},
    "adam, cosine, decay": {"optimizer": "adamw", "learning_rate": 0.05, "optimizer_args": {"weight_decay": 0.1}},
    "rmsprop, constant": {"optimizer": "rmsprop", "learning_rate": 0.02, "schedule": Schedule.constant},
}


def trained(candidate: Candidate, settings: Any, epochs: int = 2) -> tuple[TrainingRun, Any]:
    """The run, and the weights at its end."""
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed
    from autotune.worker.child.train import Trainer

    dataset, kept = people.dataset(), []

    class Keeping(ModelBuilder):
        def build(self, *args: Any) -> Any:
            kept.append(super().build(*args))
            return kept[-1]

    trainer = Trainer(settings, dataset, Keeping(settings, (4,), 3), Feed(dataset.train, 0))
    run = trainer.train(TrainArgs(candidate, people.recipe(candidate, settings, epochs=epochs), 0))
    return run, kept[0].model


@pytest.mark.parametrize("name", list(TRAININGS))
def test_four_parts_of_eight_are_a_batch_of_32(name: str) -> None:
    """120 examples are three batches and 24 examples that are left, which would be three more micro-batches."""
    settings = people.config(train=TrainConfig(batch_size=32, **TRAININGS[name]))
    whole = people.candidate(batch=32)
    parts = replace(whole, accumulation=4)
    (one, expected), (many, found) = trained(whole, settings, epochs=3), trained(parts, settings, epochs=3)
    assert one.iterations == many.iterations == many.recipe.total_steps == 9
    for ours, theirs in zip(found.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-6)
    assert [p.train_loss for p in many.curve] == pytest.approx([p.train_loss for p in one.curve], rel=1e-5)
    assert many.effect.accumulation == 4
    assert health.training_failure(many, 0.2) is None


def test_keras_by_itself_would_read_the_schedule_too_fast() -> None:
    """If this fails, Keras has mended it, and `read_rate_per_step` can go."""
    import keras

    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([3], [1.0, 0.0])
    optimizer = keras.optimizers.SGD(schedule, gradient_accumulation_steps=4)
    optimizer._iterations.assign(7)
    assert int(optimizer.iterations) == 1
    assert float(optimizer.learning_rate) == 0.0


def test_more_steps_a_call_are_as_many_steps_of_the_optimizer() -> None:
    """In an epoch of 6 steps: 3 a call, of 2 micro-batches each."""
    settings = people.config()
    plain = people.candidate(batch=20)
    many = replace(plain, accumulation=2, steps_per_execution=3)
    runs = [trained(one, settings)[0] for one in (plain, many)]
    assert [run.iterations for run in runs] == [12, 12]
    assert runs[0].curve[-1].train_loss == pytest.approx(runs[1].curve[-1].train_loss, rel=1e-5)


def test_under_xla_too() -> None:
    settings = people.config()
    candidates = [replace(people.candidate(batch=20, xla=Xla.ON), accumulation=parts) for parts in (1, 2)]
    one, two = (trained(candidate, settings)[1].get_weights() for candidate in candidates)
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)


def test_a_loss_scaler_is_around_it_and_what_it_skips_is_counted() -> None:
    """A micro-batch that overflows is left out and the next takes its place, so at most one step is missing."""
    settings = people.config(build="nets.mlp")
    parts = replace(people.candidate("mixed_float16", batch=20), accumulation=2)
    run, model = trained(parts, settings, epochs=3)
    assert run.effect.loss_scaling
    assert model.optimizer.inner_optimizer.gradient_accumulation_steps == 2
    assert run.iterations + run.skipped_steps == run.recipe.total_steps == 18
    assert health.training_failure(run, 0.5) is None


def own_step(*, widths: Any, input_shape: Any, num_classes: Any) -> Any:
    """A person's model whose training step is its own."""
    import keras
    import tensorflow as tf

    class Own(keras.Model):
        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            weights = self.trainable_variables
            self.optimizer.apply(tape.gradient(loss, weights), weights)
            return {"loss": loss}

    inputs = keras.Input(input_shape)
    return Own(inputs, keras.layers.Dense(num_classes, "softmax")(inputs))


def test_a_model_with_a_step_of_its_own_accumulates_too() -> None:
    settings = people.config(build=f"{__name__}.own_step")
    plain = people.candidate(batch=20)
    one, two = (trained(replace(plain, accumulation=parts), settings)[1].get_weights() for parts in (1, 2))
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-6)


def test_throughput_is_of_whole_batches() -> None:
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed
    from autotune.worker.child.probe import Prober

    settings = people.config()
    prober = Prober(ModelBuilder(settings, (4,), 3), Feed(people.dataset().train, 0))
    plain = people.candidate(batch=20)
    parts = replace(plain, accumulation=4)
    recipes = [people.recipe(one, settings) for one in (parts, plain)]
    probe = prober.probe(ProbeArgs(parts, recipes[0], plain, recipes[1], 0, 0.01, 6, 8, 0.5, 1.0, pipeline=True))
    assert health.probe_failure(probe) is None
    assert probe.examples_per_s == pytest.approx(20 / probe.step_time_ms * 1e3)
    assert probe.pipeline is not None
    # Steps of the optimizer are counted, each of four micro-batches: blocks, their lead-ins and warm-up.
    assert (probe.effect.accumulation, probe.baseline_batch_size) == (4, 20)
    whole, in_parts = (sum(one.flops for one in effect.products) for effect in (_effect(plain, settings), probe.effect))
    assert whole == in_parts


def _effect(candidate: Candidate, settings: Any) -> Any:
    return trained(candidate, settings)[0].effect


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras under NumPy 2
def test_what_is_saved_goes_on_in_keras_alone(tmp_path: Path) -> None:
    """Without anything of ours: its schedule counts micro-batches, as Keras reads it."""
    import keras

    settings = people.config()
    parts = replace(people.candidate(batch=20), accumulation=2)
    _, model = trained(parts, settings, epochs=1)
    model.save(tmp_path / "kept.keras")
    again = keras.models.load_model(tmp_path / "kept.keras")
    assert again.optimizer.gradient_accumulation_steps == 2
    assert int(again.optimizer.iterations) == 6
    assert float(again.optimizer.learning_rate) == pytest.approx(0.0, abs=1e-6), "the cosine is at its end"
