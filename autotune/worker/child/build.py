"""Builds and compiles a candidate's model, so that its user need not know the traps of doing so.

The order matters: `clear_session` resets the global dtype policy, a policy is read when a layer is made, and it is kept
per thread. So policy, seed and builder run one after the other on the worker's only thread that builds.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
from keras.src.utils.naming import reset_uids  # Keras exports only `get_uid`, which counts on

from autotune.config.schema import Config
from autotune.errors import ConfigError, TrialFault
from autotune.targets import resolve
from autotune.trial import Candidate, FailureKind, Recipe, Xla
from autotune.worker.child import framework, mixed, step
from autotune.worker.child.accumulate import read_rate_per_step
from autotune.worker.child.faults import kind_of
from autotune.worker.child.schedule import learning_rate

_JIT = {Xla.AUTO: "auto", Xla.ON: True, Xla.OFF: False}


@dataclass(frozen=True, slots=True)
class BuiltModel:
    """A compiled model. `build_s` is the time of building and compiling the object, without tracing [s]."""

    model: keras.Model
    build_s: float


class ModelBuilder:
    """Makes compiled models of one configuration.

    Args:
        config: the run's configuration.
        input_shape: of one example.
        num_classes: None for a regression.

    Attributes:
        asked: how many models it was asked for so far, those that failed among them.

    Raises:
        ConfigError: `model._target_` is not a builder.
    """

    def __init__(self, config: Config, input_shape: tuple[int, ...], num_classes: int | None) -> None:
        self._config = config
        self._input_shape = input_shape
        self._num_classes = num_classes
        self.asked = 0
        self._builder = resolve(config.model._target_, "model._target_")
        _check_signature(self._builder, config)

    def build(self, candidate: Candidate, recipe: Recipe, seed: int) -> BuiltModel:
        """A freshly initialised, compiled model.

        Raises:
            TrialFault: the builder failed or gave no model that can be trained.
        """
        self.asked += 1
        began = time.perf_counter()
        framework.allow_tf32(candidate.tf32)  # of the whole process: see `LocalExecutor`
        model = with_float32_output(self.raw(candidate, seed))
        self.compile(model, candidate, recipe)
        return BuiltModel(model, time.perf_counter() - began)

    def raw(self, candidate: Candidate, seed: int) -> keras.Model:
        """The model as its builder makes it under the candidate's policy, neither mended nor compiled here.

        Raises:
            TrialFault: the builder failed or gave no model that can be trained.
        """
        reset_uids()  # so that a layer has one name, whatever this process has built before
        keras.config.set_dtype_policy(mixed.policy_of(candidate.policy))
        keras.utils.set_random_seed(seed)
        model = self._called(candidate)
        return mixed.with_float32_layers(model, candidate.policy) if candidate.policy.float32_layers else model

    def _called(self, candidate: Candidate) -> keras.Model:
        """The builder's model, with weights: without an Input, Keras would make them only at the first step.

        Until then no layer shows that it computes in float16 and needs loss scaling, and no two runs can be shown to
        start alike.
        """
        target = self._config.model._target_
        try:
            model = self._builder(
                widths=list(candidate.widths),
                input_shape=self._input_shape,
                num_classes=self._num_classes if self._num_classes is not None else 1,
                **self._config.model.args,
            )
            if isinstance(model, keras.Model) and not model.built:
                model(keras.KerasTensor((None, *self._input_shape)))
        except Exception as error:
            kind, message = kind_of(error)
            raise TrialFault(kind, f"the builder {target} failed: {message}") from error
        if not isinstance(model, keras.Model):
            raise TrialFault(
                FailureKind.INVALID,
                f"the builder {target} must return a keras.Model, but got {type(model).__name__}",
            )
        if any(_is_constant(layer) for layer in model.layers[-1:]):
            raise TrialFault(
                FailureKind.INVALID,
                f"the builder {target} ends in a softmax over one unit, which is 1 whatever the weights: it is for two"
                " classes or more; for a regression bring a builder of your own whose last layer has no activation",
            )
        return model

    def compile(self, model: keras.Model, candidate: Candidate, recipe: Recipe) -> None:
        """Compile a model as `build` does."""
        optimizer = self._optimizer(candidate, recipe)
        # Keras wraps the optimizer only if the model's own policy is named mixed_float16: a single float16 layer, a
        # policy map or pure float16 would silently train without loss scaling.
        if any(layer.compute_dtype == "float16" for layer in model._flatten_layers() if layer.weights):
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
        model.compile(
            optimizer=optimizer,
            loss=self._loss(),
            jit_compile=_JIT[candidate.xla],
            steps_per_execution=candidate.steps_per_execution * candidate.accumulation,  # Keras counts micro-batches
            auto_scale_loss=False,
        )
        step.listen(model)

    def _optimizer(self, candidate: Candidate, recipe: Recipe) -> keras.Optimizer:
        train = self._config.train
        rate = learning_rate(recipe, train, candidate)
        args = {**train.optimizer_args, "learning_rate": rate}
        if candidate.accumulation > 1:
            args["gradient_accumulation_steps"] = candidate.accumulation
        try:
            optimizer = keras.optimizers.get({"class_name": train.optimizer, "config": args})
        except (TypeError, ValueError) as error:
            raise ConfigError(f"train.optimizer_args do not fit the optimizer {train.optimizer}: {error}") from error
        read_rate_per_step(optimizer)
        return optimizer

    def _loss(self) -> Any:
        name = self._config.train.loss
        if name == "auto":
            name = "mean_squared_error" if self._num_classes is None else "sparse_categorical_crossentropy"
        try:
            return keras.losses.get(name)
        except ValueError:
            raise ConfigError(f"train.loss must name a Keras loss or be auto, but got {name!r}") from None


def with_float32_output(model: keras.Model) -> keras.Model:
    """The same model whose output layers compute in float32, with the same weights.

    A softmax or a regression head in float16 overflows above 65504 and a loss on float16 outputs is inf: whatever the
    policy, the output is float32.

    Raises:
        TrialFault: the output is 16-bit in a way that cannot be mended from outside, such as in a subclassed model.
    """
    if all(dtype == "float32" for dtype in output_dtypes(model)):
        return model
    if isinstance(model, keras.Sequential):
        last = {model.layers[-1].name}
    elif type(model).__name__ == "Functional":
        last = {
            operation.name
            for operation in model.operations
            if any(operation.output is output for output in keras.tree.flatten(model.outputs))
        }
    else:
        raise _not_mended(f"{type(model).__name__} is a class of its own")

    def clone(layer: keras.Layer) -> keras.Layer:
        config = layer.get_config()
        return layer.__class__.from_config({**config, "dtype": "float32"} if layer.name in last else config)

    try:
        mended = keras.models.clone_model(model, clone_function=clone)
    except (TypeError, ValueError) as error:  # a Lambda, or an operation that is no layer
        raise _not_mended(str(error).strip().split("\n")[0]) from error
    mended.set_weights(model.get_weights())
    if any(dtype != "float32" for dtype in output_dtypes(mended)):
        raise _not_mended("it comes from a model within the model")
    return mended


def _not_mended(reason: str) -> TrialFault:
    return TrialFault(
        FailureKind.INVALID,
        f'the model\'s output is 16-bit; give its last layer dtype="float32" in the builder ({reason})',
    )


def output_dtypes(model: keras.Model) -> list[str]:
    """Dtypes of the outputs of a built model."""
    try:
        outputs = model.outputs
    except (AttributeError, ValueError):  # a subclassed model
        if (built := model.get_build_config()) is None:  # it says itself that it is built, and not from which shape
            return [str(model.layers[-1].compute_dtype)]
        outputs = model.compute_output_spec(keras.KerasTensor(built["input_shape"]))
    return [keras.backend.standardize_dtype(output.dtype) for output in keras.tree.flatten(outputs)]


def _is_constant(layer: keras.Layer) -> bool:
    """Whether nothing can be learned through a layer: every candidate would be as accurate as float32."""
    return getattr(layer, "units", None) == 1 and getattr(layer, "activation", None) is keras.activations.softmax


def _check_signature(builder: Callable[..., Any], config: Config) -> None:
    try:
        signature = inspect.signature(builder)
    except (TypeError, ValueError):
        return  # a callable written in C does not tell
    asked = {"widths": [], "input_shape": (), "num_classes": 0, **config.model.args}
    try:
        signature.bind(**asked)
    except TypeError as error:
        raise ConfigError(
            f"the builder {config.model._target_} must take the keyword arguments {', '.join(asked)} (a builder is"
            f" called as builder(widths=, input_shape=, num_classes=, **model.args)): {error}"
        ) from None
