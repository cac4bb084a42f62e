"""Trains a candidate on one seed, and evaluates it on the whole validation part in float32 outputs."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from autotune.config.schema import Config
from autotune.data import Dataset
from autotune.errors import ConfigError, TrialFault
from autotune.space.recipe import evaluated_epochs
from autotune.targets import resolve
from autotune.trial import EarlyStop, EpochPoint, FailureKind, TrainingRun
from autotune.worker.child import effect
from autotune.worker.child.build import ModelBuilder
from autotune.worker.child.faults import kept_at
from autotune.worker.child.feed import Feed
from autotune.worker.child.schedule import user_callbacks
from autotune.worker.metrics import ACCURACY, packed_right
from autotune.worker.protocol import TrainArgs

# Evaluation needs no gradient, so it takes a larger batch than most trainings: 1,365 images of CIFAR-10's size would
# have so many values. Of large inputs it takes fewer, or it would not fit where training does.
_MOST_EXAMPLES = 500
_MOST_VALUES = 2**22


class Trainer:
    """Runs trainings of one configuration on one dataset; calls `alive` at each step."""

    def __init__(
        self,
        config: Config,
        dataset: Dataset,
        builder: ModelBuilder,
        feed: Feed,
        alive: Callable[[], None] = lambda: None,
    ) -> None:
        self._alive = alive
        self._config = config
        self._dataset = dataset
        self._builder = builder
        self._feed = feed
        self.metric = Metric(config)

    def train(self, args: TrainArgs) -> TrainingRun:
        """One training run from fresh weights; it ends early where it was asked to, and when its loss is not finite.

        Raises:
            TrialFault: the trained model was to be kept and cannot be saved.
            UserError: there is no room for it.
        """
        candidate, recipe = args.candidate, args.recipe
        model = self._builder.build(candidate, recipe, args.seed).model
        digest = _digest(model)
        curve = _Curve(self.metric, self._dataset, args, self._alive)
        callbacks = [*user_callbacks(self._config.train, candidate), curve]
        self._fit(model, args, callbacks)
        whole = curve.stopped is None
        keep_path = args.keep_path if whole else None
        if keep_path is not None:
            with kept_at(Path(keep_path)):
                _save(model, Path(keep_path))
        return TrainingRun(
            candidate=candidate,
            seed=args.seed,
            recipe=recipe,
            metric=curve.points[-1].metric if whole else None,
            curve=tuple(curve.points),
            iterations=_applied_steps(model.optimizer),
            skipped_steps=sum(point.skipped_steps for point in curve.points),
            loss_scale=curve.points[-1].loss_scale,
            loss_finite=all(point.train_loss is not None for point in curve.points),
            train_s=curve.points[-1].elapsed_s,
            weights_digest=digest,
            effect=effect.inspect(model),
            model_path=keep_path,
            right=curve.right if whole else None,
            stopped=curve.stopped,
            permuted=curve.permuted,
        )

    def _fit(self, model: keras.Model, args: TrainArgs, callbacks: list[keras.callbacks.Callback]) -> None:
        """Train; the feed has shuffled.

        One iterator for the whole training saves milliseconds at the start of each epoch, which is a good part of a
        short one. Keras rounds such an epoch up to whole executions, so it is taken only where it divides; a search
        asks for nothing else, a person may.
        """
        candidate, recipe = args.candidate, args.recipe
        batches = self._feed.feeding(model, candidate, examples=recipe.examples, seed=args.seed)
        steps, fed = recipe.examples // candidate.batch_size, None
        if steps and steps % candidate.steps_per_execution == 0:
            batches, fed = batches.repeat(), steps * candidate.accumulation  # `fit` counts micro-batches
        model.fit(batches, epochs=recipe.epochs, steps_per_epoch=fed, callbacks=callbacks, verbose=0, shuffle=False)


class Metric:
    """The constraint's metric on a model's float32 outputs.

    Raises:
        ConfigError: `constraint._target_` names nothing that can be called.
    """

    def __init__(self, config: Config) -> None:
        self.name = config.constraint._target_
        self._function = resolve(self.name, "constraint._target_")
        self._args = config.constraint.args

    def __call__(self, y_true: Any, y_pred: Any) -> float | None:
        """The metric, or None if it is not finite.

        Raises:
            ConfigError: a person's own metric failed or did not return one number.
        """
        if y_true.ndim == 1 and y_pred.ndim == 2 and y_pred.shape[1] == 1:
            y_pred = y_pred[:, 0]  # y_true - y_pred would be every target less every output, and no error
        if self.name != ACCURACY and not np.isfinite(y_pred).all():
            return None  # most metrics refuse such outputs; the trial has failed, the metric is not at fault
        try:
            returned = self._function(y_true, y_pred, **self._args)
            if isinstance(returned, (str, bytes)):  # float() would read it
                raise TypeError(f"it returned {returned!r}")
            value = float(returned)
        except Exception as error:
            raise ConfigError(
                f"the metric {self.name} failed: {type(error).__name__}: {error}; it is called as metric(y_true,"
                f" y_pred, **constraint.args) with numpy arrays, here of shapes {y_true.shape} and {y_pred.shape}, and"
                " must return one number"
            ) from error
        return value if math.isfinite(value) else None


def evaluation_batch(shape: Sequence[int]) -> int:
    """Examples of this shape that are evaluated at once, whatever the batch that a model was trained with."""
    return max(1, min(_MOST_EXAMPLES, _MOST_VALUES // max(1, math.prod(shape))))


def predict(model: keras.Model, x: Any, alive: Callable[[], None] = lambda: None) -> Any:
    """Float32 outputs for `x`, XLA off whatever the candidate asks: baseline and candidates are evaluated alike.

    `alive` is called after each batch. Keras's `predict` takes twice as long and more: it makes a tf.data pipeline,
    whose end waits for a thread (see `feed.without_autotune`).
    """
    compiled, model.jit_compile = model.jit_compile, False
    steps, model.steps_per_execution = model.steps_per_execution, 1
    outputs = []
    size = evaluation_batch(x.shape[1:])
    try:
        for start in range(0, len(x), size):
            outputs.append(np.asarray(model.predict_on_batch(x[start : start + size]), dtype=np.float32))
            alive()
    finally:
        model.jit_compile, model.steps_per_execution = compiled, steps
    return np.concatenate(outputs)


class _Curve(keras.callbacks.Callback):  # type: ignore[misc]
    """One point an epoch: loss, the scaler's state, the metric of some, and the training time without evaluation.

    Attributes:
        points: so far.
        right: see `TrainingRun.right`, of the last epoch.
        stopped: where it has stopped the training, or None.
        permuted: see `TrainingRun.permuted`.
    """

    def __init__(self, metric: Metric, dataset: Dataset, args: TrainArgs, alive: Callable[[], None]) -> None:
        super().__init__()
        recipe = args.recipe
        self._stops = args.stops
        self._alive = alive
        self._evaluated = evaluated_epochs(recipe.epochs, recipe.evaluations)
        self._metric = metric
        self._validation = dataset.validation
        self._labels = dataset.num_classes is not None
        self._steps_per_epoch = recipe.examples // recipe.batch_size
        self._steps_per_execution = args.candidate.steps_per_execution
        self._applied = 0
        self._executions = 0
        self._last_loss: Any = math.nan
        self._elapsed_s = 0.0
        self._epoch_began = 0.0
        self.points: list[EpochPoint] = []
        self.right: str | None = None
        self.stopped: EarlyStop | None = None
        self.permuted: float | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        self._keep_last_loss()
        self._epoch_began = time.perf_counter()

    def _keep_last_loss(self) -> None:
        """Keep what the train function returned last, and count its calls; Keras tells neither at an epoch's end.

        A hook on each batch would do as well: Keras 3.15 on TensorFlow waits for the logs after every batch, with hooks
        or without.
        """
        train_function = self.model.train_function

        def keeping(iterator: Any) -> Any:
            logs = train_function(iterator)
            self._last_loss = logs.get("loss", math.nan)
            self._executions += 1
            self._alive()
            return logs

        self.model.train_function = keeping

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        # Keras tells its own metric's mean, which is zero where a person's own training step does not feed it.
        loss = float((logs or {}).get("loss", math.nan)) or float(self._last_loss)
        scale = _loss_scale(self.model.optimizer)
        skipped = self._skipped(scaled=scale is not None)  # reading the counters waits for the epoch's last update
        self._elapsed_s += time.perf_counter() - self._epoch_began
        metric, self.right = self._evaluate(epoch + 1) if epoch + 1 in self._evaluated else (None, None)
        finite = loss if math.isfinite(loss) else None
        self.points.append(EpochPoint(epoch + 1, finite, metric, self._elapsed_s, scale, skipped))
        self.stopped = next((stop for stop in self._stops if stop.ends(epoch + 1, metric)), None)
        if self.stopped is not None or finite is None:  # no later epoch mends a loss that is not finite
            self.model.stop_training = True
        self._epoch_began = time.perf_counter()

    def _skipped(self, *, scaled: bool) -> int:
        """Steps of this epoch that the scaler left out: the optimizer counts those that it applied."""
        before, self._applied = self._applied, _applied_steps(self.model.optimizer)
        # The last execution of an epoch may be cut short; one that a callback stopped has fewer of them.
        ran = min(self._steps_per_epoch, self._executions * self._steps_per_execution)
        self._executions = 0
        return max(0, ran - (self._applied - before)) if scaled else 0

    def _evaluate(self, epoch: int) -> tuple[float | None, str | None]:
        targets, outputs = self._validation.y, predict(self.model, self._validation.x, self._alive)
        right = packed_right(targets, outputs) if self._labels else None
        metric = self._metric(targets, outputs)
        before = {point.metric for point in self.points if point.epoch in self._evaluated}
        if epoch == max(self._evaluated) and metric is not None and before <= {metric}:
            others = np.random.default_rng(0).permutation(len(targets))
            with contextlib.suppress(ConfigError):  # one that takes the targets in their order alone
                self.permuted = self._metric(targets[others], outputs)
        return metric, right


def _save(model: keras.Model, path: Path) -> None:
    """Write the model under its name only once it is whole and on disk: a later session may rely on it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_name(f"being_written-{path.name}")
    try:
        model.save(written)
    except (NotImplementedError, TypeError, ValueError) as error:  # such as a class without get_config
        reason = " ".join(str(error).split())[:300]
        raise TrialFault(FailureKind.INVALID, f"the trained model cannot be saved: {reason}") from error
    with written.open("rb") as file:
        os.fsync(file.fileno())
    written.replace(path)


def _applied_steps(optimizer: keras.Optimizer) -> int:
    """Steps that changed the weights; those that a loss scaler skips are not among them."""
    scaled = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return int((optimizer.inner_optimizer if scaled else optimizer).iterations.numpy())


def _loss_scale(optimizer: keras.Optimizer) -> float | None:
    scaled = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return float(optimizer.dynamic_scale.numpy()) if scaled else None


def _digest(model: keras.Model) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for weight in model.get_weights():
        digest.update(np.ascontiguousarray(weight, dtype=np.float32).tobytes())
    return digest.hexdigest()
