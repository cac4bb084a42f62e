"""Takes a configuration's model apart on the CPU: builds it, traces its step, and runs one batch forward and back."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from autotune.config.schema import Config
from autotune.data import Dataset, Part
from autotune.errors import TrialFault, UserError
from autotune.trial import Candidate, Recipe
from autotune.trial.anatomy import Compiled, ModelAnatomy, Ranges, StepAnatomy
from autotune.worker.child import build, calibrate, dissect, framework, ranges, step
from autotune.worker.child.faults import kind_of
from autotune.worker.child.feed import Feed
from autotune.worker.protocol import InspectArgs

# What two slow cores do in about two seconds: larger models see fewer examples.
_MOST_FLOPS = 1e11
_FEWEST_EXAMPLES = 2
_MOST_EXAMPLES = 64

_FEED_S = 0.3
_FEED_EXAMPLES = 8192
_FEED_BATCHES = 50


@dataclass(frozen=True, slots=True)
class _Traced:
    """A step's anatomy, the model as its builder made it, the one that was traced, and how it had been compiled."""

    anatomy: StepAnatomy
    raw: keras.Model
    model: keras.Model
    compiled: Compiled | None


class Inspector:
    """Inspects the model of one configuration.

    Args:
        config: the run's configuration.
        dataset: whose first examples are the batch.
        alive: called between parts.
    """

    def __init__(self, config: Config, dataset: Dataset, alive: Callable[[], None] = lambda: None) -> None:
        self._config = config
        self._dataset = dataset
        self._alive = alive
        self._builder = build.ModelBuilder(config, tuple(dataset.input_shape), dataset.num_classes)
        self._seconds: dict[str, float] = {}
        self._failures: dict[str, str] = {}

    def inspect(self, args: InspectArgs) -> ModelAnatomy:
        """Everything about the model of one candidate, in float32 and under a 16-bit policy.

        Raises:
            TrialFault: the model cannot even be built and traced in float32.
            UserError: a person's mistake.
        """
        with tf.device("/CPU:0"):
            return self._inspect(args)

    def _inspect(self, args: InspectArgs) -> ModelAnatomy:
        full = self._step(args.float32, args.recipe, "float32")
        measured = self._ranges(full.model, full.anatomy)
        optimizer = _inner(full.model.optimizer)
        reduced: _Traced | None = None
        if args.reduced is not None:
            try:
                reduced = self._step(args.reduced, args.recipe, "16 bit")
            except (TrialFault, UserError) as error:
                self._failures["16 bit"] = str(error)
        feed_ms = self._feed_ms(args.float32.batch_size)
        calibration = None
        if args.calibrate:
            with self._timed("calibration"):
                calibration = calibrate.calibrated(args.emulated)
        return ModelAnatomy(
            float32=full.anatomy,
            reduced=_renamed(reduced.anatomy, full.anatomy) if reduced else None,
            targets=ranges.targets_of(self._dataset.train),
            ranges=measured,
            reused=reduced is not None and reduced.raw is full.raw,
            compiled=full.compiled,
            optimizer=type(optimizer).__name__,
            loss=_loss_name(full.model.loss)[0],
            epsilon=_epsilon(optimizer),
            variables_per_weight=_slots(optimizer, full.model),
            feed_ms=feed_ms,
            deterministic=framework.deterministic(),
            failures=dict(self._failures),
            seconds={part: round(took_s, 3) for part, took_s in self._seconds.items()},
            calibration=calibration,
        )

    def _step(self, candidate: Candidate, recipe: Recipe, part: str) -> _Traced:
        with self._timed(f"build in {part}"):
            raw = self._builder.raw(candidate, self._config.train.seed)
            dtypes, compiled = tuple(build.output_dtypes(raw)), _compiled(raw)
            model, not_mended = raw, None
            try:
                model = build.with_float32_output(raw)
            except TrialFault as fault:
                not_mended = fault.message
            if isinstance(vars(model).get("train_step"), step.TracedStep):
                del model.train_step  # the builder has kept the model, with what listened to it the last time
            self._builder.compile(model, candidate, recipe)
        with self._timed(f"trace in {part}"):
            try:
                anatomy, calls = dissect.traced_step(model, candidate.policy.name, *self._batch(candidate.batch_size))
            except (TrialFault, UserError):
                raise
            except Exception as error:
                kind, message = kind_of(error)
                raise TrialFault(kind, f"the training step cannot be traced in {part}: {message}") from error
        names = calls.names()
        outputs = tuple(names.get(id(layer), layer.name) for layer in _output_layers(model))
        told = dataclasses.replace(anatomy, output_dtypes=dtypes, output_layers=outputs, not_mended=not_mended)
        return _Traced(told, raw, model, compiled)

    def _batch(self, size: int) -> tuple[Any, Any]:
        part = self._dataset.train
        size = min(size, len(part))
        return part.x[:size], part.y[:size]

    def _ranges(self, model: keras.Model, anatomy: StepAnatomy) -> Ranges | None:
        per_example = max(1, sum(layer.flops for layer in anatomy.layers) // anatomy.batch_size)
        examples = int(min(_MOST_EXAMPLES, anatomy.batch_size, max(_FEWEST_EXAMPLES, _MOST_FLOPS / per_example)))
        with self._timed("numbers on a batch"):
            try:
                return ranges.measured(model, *self._batch(examples), batch_size=anatomy.batch_size)
            except Exception as error:  # noqa: BLE001 (a step of a person's own may use no compiled loss at all)
                self._failures["numbers on a batch"] = kind_of(error)[1]
                return None

    def _feed_ms(self, batch_size: int) -> float | None:
        """Time of making one batch, as training does: the median, as others may use the machine."""
        whole = self._dataset.train
        part = Part(whole.x[:_FEED_EXAMPLES], whole.y[:_FEED_EXAMPLES])
        if len(part) < 2 * batch_size:
            return None
        with self._timed("input pipeline"):
            feed = Feed(part, self._config.data.split_seed)
            batches = iter(feed.batches(examples=len(part), batch_size=batch_size, seed=0))
            next(batches)
            began, took = time.perf_counter(), [time.perf_counter()]
            for _ in batches:
                took.append(time.perf_counter())
                if len(took) > _FEED_BATCHES or took[-1] - began > _FEED_S:
                    break
        each = [later - earlier for earlier, later in itertools.pairwise(took)]
        return statistics.median(each) * 1e3 if each else None

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[part] = self._seconds.get(part, 0.0) + time.perf_counter() - began
            self._alive()


def _renamed(step: StepAnatomy, like: StepAnatomy) -> StepAnatomy:
    """With the names of another step of the same model: Keras counts on where a layer was given no name."""
    mine, theirs = ([layer for layer in each.layers if not layer.is_outside] for each in (step, like))
    if [layer.kind for layer in mine] != [layer.kind for layer in theirs]:
        return step
    names = {own.name: other.name for own, other in zip(mine, theirs, strict=True)}
    return dataclasses.replace(
        step,
        layers=tuple(dataclasses.replace(layer, name=names.get(layer.name, layer.name)) for layer in step.layers),
        output_layers=tuple(names.get(name, name) for name in step.output_layers),
    )


def _compiled(model: keras.Model) -> Compiled | None:
    """What the builder had compiled, or set to run eagerly, before it is compiled anew."""
    eager = bool(getattr(model, "run_eagerly", False)) or tf.config.functions_run_eagerly()
    if not getattr(model, "compiled", False):
        return Compiled(loss="", optimizer="", run_eagerly=True) if eager else None
    loss = getattr(model, "loss", None)
    name, known = _loss_name(loss)
    return Compiled(name, type(model.optimizer).__name__, eager, known, bool(getattr(loss, "from_logits", False)))


def _loss_name(loss: Any) -> tuple[str, bool]:
    """How Keras spells a loss that a model was compiled with, and whether it knows a loss by that name."""
    if loss is None:
        return "", False
    try:
        found = keras.losses.get(loss)
    except ValueError:
        found = loss
    function = getattr(found, "fn", found)  # a loss of Keras's own wraps a function
    name = str(getattr(function, "__name__", None) or getattr(found, "name", None) or found)
    try:
        return name, keras.losses.get(name) is not None
    except ValueError:
        return name, False


def _output_layers(model: keras.Model) -> tuple[Any, ...]:
    """Layers, or operations that are none, that make the model's outputs."""
    if isinstance(model, keras.Sequential):
        return (model.layers[-1],)
    try:
        outputs = [id(output) for output in keras.tree.flatten(model.outputs)]
        return tuple(
            operation
            for operation in model.operations
            if not isinstance(operation, keras.layers.InputLayer) and id(operation.output) in outputs
        )
    except (AttributeError, ValueError):
        return (model.layers[-1],) if model.layers else ()


def _inner(optimizer: keras.Optimizer) -> keras.Optimizer:
    """The optimizer within a loss scaler: a float16 layer brings one under float32 too."""
    scaled = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return optimizer.inner_optimizer if scaled else optimizer


def _epsilon(optimizer: keras.Optimizer) -> float | None:
    value = getattr(optimizer, "epsilon", None)
    return float(value) if isinstance(value, (int, float)) else None


def _slots(optimizer: keras.Optimizer, model: keras.Model) -> int:
    """Variables of the optimizer that have the shape of a weight, for each weight."""
    if not optimizer.built:
        optimizer.build(model.trainable_variables)
    shapes = [tuple(weight.shape) for weight in model.trainable_variables if len(weight.shape)]
    own = [variable for variable in optimizer.variables if tuple(variable.shape) in set(shapes)]
    return round(len(own) / len(shapes)) if shapes else 0
