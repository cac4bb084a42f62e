"""Trainings of a small model: what they count, what they share, and how float16 goes wrong in silence."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.config.train import CallbackConfig, TrainConfig
from autotune.decide import health
from autotune.errors import ConfigError, TrialFault
from autotune.trial import Candidate, EarlyStop, FailureKind, TrainingRun, Xla
from autotune.worker.protocol import TrainArgs
from tests.worker import people

pytestmark = pytest.mark.slow

MAX_SKIPPED = 0.2
Train = Callable[..., TrainingRun]


def trainer(config: Any, **other: Any) -> Any:
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed
    from autotune.worker.child.train import Trainer

    dataset = people.dataset()
    return Trainer(config, dataset, ModelBuilder(config, (4,), 3), Feed(dataset.train, 0), **other)


def run(candidate: Candidate, seed: int = 0, epochs: int = 2, keep: Path | None = None, **config: Any) -> TrainingRun:
    made = people.config(**config)
    args = TrainArgs(
        candidate, people.recipe(candidate, made, epochs=epochs), seed, None if keep is None else str(keep)
    )
    result: TrainingRun = trainer(made).train(args)
    return result


def stops_after_five() -> Any:
    """A person's callback."""
    import keras

    class Stops(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.model.stop_training = batch == 4

    return Stops()


def test_a_run_says_what_it_did() -> None:
    done = run(people.candidate(), seed=3, epochs=6)
    assert (done.seed, done.iterations, done.skipped_steps, done.loss_scale) == (3, 72, 0, None)
    assert [point.epoch for point in done.curve] == [1, 2, 3, 4, 5, 6]
    assert [point.metric is not None for point in done.curve] == [False, False, True, False, False, True]
    assert done.metric == done.curve[-1].metric
    assert done.metric is not None
    assert done.metric > 0.45  # a third by chance
    losses = [point.train_loss for point in done.curve]
    assert losses[-1] < losses[0]
    elapsed = [point.elapsed_s for point in done.curve]
    assert elapsed == sorted(elapsed)
    assert done.train_s == elapsed[-1]
    assert health.training_failure(done, MAX_SKIPPED) is None


def test_it_gives_a_sign_of_life_at_each_execution_and_each_batch_evaluated() -> None:
    signs: list[None] = []
    made, candidate = people.config(), people.candidate(per_execution=6)
    trainer(made, alive=lambda: signs.append(None)).train(TrainArgs(candidate, people.recipe(candidate, made), 0))
    assert len(signs) == 2 * (12 // 6 + 1)


@pytest.mark.parametrize("per_execution", [5, 6, 24])
def test_steps_per_execution_neither_adds_nor_drops_steps(per_execution: int) -> None:
    """12 steps an epoch: 5 does not divide it, 24 is more than an epoch."""
    one, many = (run(people.candidate(per_execution=steps)) for steps in (1, per_execution))
    assert many.iterations == many.recipe.total_steps == 24
    # The order of examples is the same where the steps of an epoch are a multiple; the search asks for nothing else.
    exact = 12 % per_execution == 0
    assert [p.train_loss for p in many.curve] == pytest.approx(
        [p.train_loss for p in one.curve], rel=1e-5 if exact else 0.02
    )
    if exact:
        assert many.metric == one.metric


def test_the_metric_is_taken_as_often_as_the_recipe_says() -> None:
    config = people.config()
    recipe = replace(people.recipe(people.candidate(), config, epochs=3), evaluations=3)
    done = trainer(config).train(TrainArgs(people.candidate(), recipe, 0, None))
    assert None not in [point.metric for point in done.curve]


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras under NumPy 2
def test_a_run_tells_which_examples_it_has_right_whatever_the_metric(tmp_path: Path) -> None:
    import keras

    from autotune.worker.child.train import predict

    done = run(people.candidate(), keep=tmp_path / "a.keras", metric="autotune.worker.metrics.cross_entropy")
    validation = people.dataset().validation
    right = predict(keras.models.load_model(done.model_path), validation.x).argmax(axis=1) == validation.y
    assert done.right is not None
    assert np.unpackbits(np.frombuffer(base64.b64decode(done.right), np.uint8)).tolist() == right.tolist()
    assert done.metric is not None
    assert 0.3 < done.metric < 1.2


def test_a_partial_batch_is_no_step() -> None:
    done = run(people.candidate(batch=50), epochs=3)  # two whole batches in 120 examples
    assert done.iterations == done.recipe.total_steps == 6


def test_one_seed_starts_alike_under_every_policy_and_repeats_exactly() -> None:
    policies = ("float32", "mixed_bfloat16", "mixed_float16")
    runs = {policy: run(people.candidate(policy), seed=1) for policy in policies}
    assert len({done.weights_digest for done in runs.values()}) == 1
    again = run(people.candidate(), seed=1)
    assert (again.metric, again.curve[-1].train_loss) == (runs["float32"].metric, runs["float32"].curve[-1].train_loss)
    assert run(people.candidate(), seed=2).weights_digest != again.weights_digest
    measured = [{product.dtype for product in runs[policy].effect.products} for policy in policies]
    assert measured == [{"float32"}, {"bfloat16", "float32"}, {"float16", "float32"}]  # the head is float32


def test_xla_changes_no_weights_at_the_start() -> None:
    assert run(people.candidate(xla=Xla.ON)).weights_digest == run(people.candidate()).weights_digest


def test_float16_counts_the_steps_that_were_skipped() -> None:
    done = run(people.candidate("mixed_float16"))
    assert sum(point.skipped_steps for point in done.curve) == done.skipped_steps
    assert done.curve[-1].loss_scale == done.loss_scale
    assert run(people.candidate("mixed_bfloat16")).curve[-1].loss_scale is None
    assert done.loss_scale == 32768.0 / 2**done.skipped_steps
    assert done.iterations + done.skipped_steps == 24
    assert health.training_failure(done, MAX_SKIPPED) is None


def test_steps_that_were_never_run_were_not_skipped_by_the_scaler() -> None:
    """A person's callback ends the training after 5 of the 12 steps of the first of four epochs."""
    callback = CallbackConfig(_target_=f"{__name__}.stops_after_five")
    done = run(people.candidate("mixed_float16"), epochs=4, train=TrainConfig(batch_size=10, callbacks=[callback]))
    assert len(done.curve) == 1
    assert done.iterations + done.skipped_steps == 5
    assert done.iterations > 0
    failure = health.training_failure(done, MAX_SKIPPED)
    assert failure is not None
    assert (failure.kind, done.metric) == (FailureKind.INVALID, None)
    assert "early stopping" in failure.message


def test_a_loss_scale_that_collapses_is_no_result_although_nothing_in_the_history_is_odd() -> None:
    """An epsilon that float16 flushes to zero: the loss is finite, every gradient is not, and no weight moves."""
    done = run(people.candidate("mixed_float16"), build="nets.collapsing")
    assert done.loss_finite
    assert done.metric is not None
    assert (done.iterations, done.skipped_steps) == (0, 24)
    assert [point.loss_scale for point in done.curve] == [8.0, 32768.0 / 2**24]
    assert [point.skipped_steps for point in done.curve] == [12, 12]
    failure = health.training_failure(done, MAX_SKIPPED)
    assert failure is not None
    assert failure.kind is FailureKind.NAN
    assert failure.message.startswith("loss-scale collapse")
    healthy = run(people.candidate("mixed_bfloat16"), build="nets.collapsing")
    assert healthy.iterations == 24
    assert health.training_failure(healthy, MAX_SKIPPED) is None


def test_a_loss_that_is_nan_is_none_in_the_curve() -> None:
    done = run(people.candidate(), build="nets.blank")
    assert not done.loss_finite
    assert [point.train_loss for point in done.curve] == [None], "no second epoch was spent on it"
    failure = health.training_failure(done, MAX_SKIPPED)
    assert failure is not None
    assert failure.kind is FailureKind.NAN


def stopping(threshold: float, *, higher: bool = True, keep: Path | None = None) -> TrainingRun:
    """Six epochs, evaluated after the third and the last; to end after the third if the metric is beyond this."""
    config, candidate = people.config(), people.candidate(per_execution=4)
    recipe = people.recipe(candidate, config, epochs=6)
    stops = (EarlyStop(3, threshold, higher),)
    args = TrainArgs(candidate, recipe, 0, None if keep is None else str(keep), stops)
    result: TrainingRun = trainer(config).train(args)
    return result


def test_a_training_beyond_its_threshold_ends_there_and_has_no_result(tmp_path: Path) -> None:
    done = stopping(1.1, keep=tmp_path / "kept.keras")
    assert done.stopped == EarlyStop(3, 1.1)
    assert [point.epoch for point in done.curve] == [1, 2, 3]
    assert done.curve[-1].metric is not None
    assert (done.metric, done.right, done.model_path, done.iterations) == (None, None, None, 36)
    assert list(tmp_path.glob("*.keras")) == []
    assert health.training_failure(done, MAX_SKIPPED) is None, "it has not failed"
    fewer = replace(done, iterations=35)
    assert health.training_failure(fewer, MAX_SKIPPED) is not None


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras under NumPy 2
def test_one_that_is_good_enough_is_as_if_nobody_had_looked(tmp_path: Path) -> None:
    done, plain = stopping(0.0, keep=tmp_path / "kept.keras"), run(people.candidate(per_execution=4), epochs=6)
    assert done.stopped is None
    assert done.model_path == str(tmp_path / "kept.keras")
    assert (done.metric, done.iterations, done.right) == (plain.metric, 72, plain.right)
    assert stopping(1.1, higher=False).stopped is None
    assert stopping(0.0, higher=False).stopped == EarlyStop(3, 0.0, higher=False)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras under NumPy 2
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("xla", [Xla.OFF, Xla.ON])
def test_trainings_that_differ_in_steps_per_execution_alone_are_the_same_training(
    policy: str, xla: Xla, tmp_path: Path
) -> None:
    """As alike as two trainings of one candidate on one seed; that lets one vouch for the other at the gate."""
    import keras

    def weights(per_execution: int, name: str) -> Any:
        done = run(people.candidate(policy, xla=xla, per_execution=per_execution), keep=tmp_path / f"{name}.keras")
        assert done.iterations == 24
        model = keras.models.load_model(done.model_path, compile=False)
        return np.concatenate([array.ravel() for array in model.get_weights()])

    one, again, many = weights(1, "one"), weights(1, "again"), weights(4, "many")
    scale = np.abs(one).max()
    assert np.abs(many - one).max() <= np.abs(again - one).max() + 1e-6 * scale


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("nets.in_words", "the metric nets.in_words failed: TypeError: it returned '0.9'"),
        ("nets.all_float32", "the metric nets.all_float32 failed: TypeError: "),
        ("autotune.worker.metrics.mean_absolute_error", "failed: ValueError: cannot reshape"),
        ("nets.accuracy", "nets has no 'accuracy'"),
    ],
)
def test_a_metric_that_returns_no_number_is_the_persons_mistake(metric: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run(people.candidate(), metric=metric)
    assert said in str(caught.value)


def test_a_metric_that_is_not_finite_is_none() -> None:
    from autotune.worker.child.train import Metric

    metric = Metric(people.config(metric="autotune.worker.metrics.mean_absolute_error"))
    assert metric(np.zeros(2), np.full((2, 1), np.inf)) is None
    assert metric(np.zeros(2), np.ones((2, 1))) == 1.0


@pytest.mark.parametrize(
    ("metric", "epochs", "known", "apart"),
    [
        ("autotune.worker.metrics.cross_entropy", 6, False, False),
        ("autotune.worker.metrics.cross_entropy", 1, True, True),
        ("nets.constant", 6, True, False),
        ("nets.only_once", 1, False, False),
    ],
    ids=["it changes over time", "one evaluation", "it never changes", "it cannot be taken twice"],
)
def test_a_metric_of_one_value_is_tried_on_other_examples_targets(
    metric: str, epochs: int, known: bool, apart: bool
) -> None:
    done = run(people.candidate(), epochs=epochs, metric=metric)
    assert done.metric is not None
    assert (done.permuted is not None) == known
    assert (known and done.permuted != done.metric) == apart


def test_an_output_of_one_column_comes_in_the_targets_shape() -> None:
    """(n,) less (n, 1) is n x n in numpy: the mean over it would be a metric that hardly knows the model."""
    from autotune.worker.child.train import Metric

    metric, targets = Metric(people.config(metric="nets.squared_error")), np.array([0.0, 1.0, 2.0])
    assert metric(targets, targets[:, None]) == 0.0
    assert metric(targets[:, None], targets[:, None] + 1) == 1.0


def test_a_persons_callback_takes_part_with_its_steps_rescaled() -> None:
    import sys

    callback = CallbackConfig(_target_="nets.Seen", args={"warm": 8, "marks": [4], "name": "a"}, step_args=["warm"])
    train = TrainConfig(batch_size=10, callbacks=[callback])
    run(people.candidate(batch=20), train=train)
    assert sys.modules["nets"].Seen.made == [{"warm": 4, "marks": [4], "name": "a"}]


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras under NumPy 2
def test_the_trained_model_is_kept_where_asked(tmp_path: Path) -> None:
    import keras

    from autotune.worker.child.train import predict

    done = run(people.candidate(), keep=tmp_path / "models" / "trial.keras")
    assert done.model_path == str(tmp_path / "models" / "trial.keras")
    kept = keras.models.load_model(done.model_path)
    validation = people.dataset().validation
    assert np.mean(predict(kept, validation.x).argmax(axis=1) == validation.y) == done.metric


def test_a_model_that_cannot_be_saved_says_what_its_class_lacks(tmp_path: Path) -> None:
    with pytest.raises(TrialFault) as caught:
        run(people.candidate(), keep=tmp_path / "trial.keras", build="nets.subclassed")
    assert caught.value.kind is FailureKind.INVALID
    assert caught.value.message.startswith("the trained model cannot be saved: Object HeadFirst was created by passing")
    assert "get_config()" in caught.value.message


def test_predicting_leaves_the_model_as_it_was_compiled() -> None:
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.train import predict

    config, candidate = people.config(), people.candidate("mixed_bfloat16", xla=Xla.ON, per_execution=4)
    model = ModelBuilder(config, (4,), 3).build(candidate, people.recipe(candidate, config), 0).model
    outputs = predict(model, people.dataset().test.x)
    assert (outputs.shape, outputs.dtype) == ((40, 3), np.float32)
    np.testing.assert_allclose(outputs.sum(axis=1), 1, atol=1e-6)
    assert (model.jit_compile, model.steps_per_execution) == (True, 4)
