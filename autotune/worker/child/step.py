"""Listens to a model's training step while Keras traces it for training, so that nothing is traced a second time.

Nothing is added to the graph: the run is the same with it and without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from autotune.errors import TrialFault
from autotune.trial import FailureKind, Pipeline, Products
from autotune.worker.child import framework, graph
from autotune.worker.child.calls import heard, worth_noting
from autotune.worker.child.parts import tensors


class TracedStep:
    """Stands in for `model.train_step`.

    Args:
        model: compiled, with a train function that is yet to be made.

    Attributes:
        own: whether the model brings a training step of its own, rather than Keras's.
    """

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        self._step = model.train_step
        self._graph: tf.Graph | None = None
        self._asked = False
        self._arrays: tuple[tf.Tensor, ...] = ()
        self._outputs: dict[int, float] = {}
        self.own = getattr(self._step, "__func__", None) is not keras.Model.train_step

    def __call__(self, data: Any) -> Any:
        """One step; runs as Python only while it is traced.

        Raises:
            TrialFault: a person's own step tells no loss, so that one which diverges could not be seen.
        """
        data = self.batch(data)
        with self._listening(), self._noting_outputs(data):
            results = self._step(data)
        if not isinstance(results, dict) or "loss" not in results:
            got = ", ".join(map(repr, results)) if isinstance(results, dict) else type(results).__name__
            raise TrialFault(
                FailureKind.INVALID,
                f"the model's own train_step must return a dict with its loss under 'loss', but got {got}",
            )
        if tf.inside_function():
            self._graph = tf.compat.v1.get_default_graph()
        return results

    def gather_from(self, arrays: tuple[tf.Tensor, ...]) -> None:
        """Be fed rows of these arrays from now on, and gather the batch where the arrays are."""
        self._arrays = arrays

    def batch(self, data: Any) -> Any:
        """What the step trains on: what it is fed, or the rows of the arrays that it is fed the numbers of."""
        if not self._arrays or not tf.is_tensor(data):
            return data
        return tuple(tf.gather(array, data) for array in self._arrays)

    @property
    def pipeline(self) -> Pipeline:
        """Where its batches are put together: on the device only if that is where the arrays are."""
        there = all(f":{framework.accelerator()}:" in array.device for array in self._arrays)
        return Pipeline.DEVICE if self._arrays and there else Pipeline.HOST

    @property
    def scales_loss(self) -> bool | None:
        """Whether it asked the optimizer to scale its loss; None before it is traced."""
        return None if self._graph is None else self._asked

    @property
    def products(self) -> tuple[Products, ...]:
        """What it computes in, by dtype; empty before it is traced, or where its graph cannot be read."""
        if self._graph is None:
            return ()
        try:
            return graph.products(self._graph)
        except Exception:  # noqa: BLE001 (a person's own operations may be of any kind; no trial fails for a statistic)
            return ()

    def outputs_of(self, layer: keras.Layer) -> int | None:
        """Elements of all that a layer put out in one step, for one example; 0 if it was not called.

        What a recurrent layer puts out is its cell's. None where the step was not traced, or nobody listened to it.
        """
        found = self._outputs.get(id(layer))
        return None if found is None else round(found)

    @contextmanager
    def _noting_outputs(self, data: Any) -> Iterator[None]:
        """Note what each layer puts out; unknown lengths count as 1."""
        batch = next((one.shape[0] for one in tensors(data) if one.shape.rank), None) or 1
        now: dict[int, float] = {}

        def note(layer: keras.Layer, _: Any, outputs: Any) -> None:
            shapes = [one.shape.as_list() for one in tensors(outputs)]
            elements = sum(math.prod(size or 1 for size in shape) for shape in shapes)
            leaf = _leaf(layer)
            now[leaf] = now.get(leaf, 0) + elements / batch

        for layer in self._model._flatten_layers(include_self=False):
            if worth_noting(layer):
                self._outputs.setdefault(_leaf(layer), 0)
        with heard(self._model, note):
            yield
        # A function within the step that was traced before is not entered again, so what it called is kept.
        self._outputs |= now

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Hear of a call of the optimizer's `scale_loss`, from wherever it comes."""
        optimizer = self._model.optimizer

        def scale_loss(loss: Any) -> Any:
            # Never taken back: a function within the step that is traced once is not entered when the step is again.
            self._asked = True
            return type(optimizer).scale_loss(optimizer, loss)

        vars(optimizer)["scale_loss"] = scale_loss
        try:
            yield
        finally:
            del vars(optimizer)["scale_loss"]


def _leaf(layer: keras.Layer) -> int:
    """The id of a layer; of a recurrent one, that of a layer of its cell which holds no others."""
    cell = layer.cell if isinstance(layer, keras.layers.RNN) else None
    if not isinstance(cell, keras.Layer):
        return id(layer)
    return next(id(one) for one in cell._flatten_layers() if not one._layers)


def listen(model: keras.Model) -> None:
    """Put a `TracedStep` in the place of the model's own, before it is trained."""
    model.train_step = TracedStep(model)


def traced(model: keras.Model) -> TracedStep | None:
    """What `listen` put there."""
    step = model.train_step
    return step if isinstance(step, TracedStep) else None
