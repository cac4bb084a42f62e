"""Whose an operation of a traced step is: a layer's, the loss's, the optimizer's, or no one's.

Keras opens a name scope around each layer's call, and TensorFlow names a gradient's operations after the scope of the
forward operation. So while the step is traced, each layer's call notes its scope; afterwards the longest scope that an
operation's name begins with is its layer. What belongs to none is told by when it was made: while the optimizer was
applied, or while the loss or the metrics were computed. All else is the model's own code outside of its layers, such as
`keras.ops` between them, casts of its inputs, and gradients that a function brings itself.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

from autotune.worker.child.parts import Part, tensors

OUTSIDE, LOSS, REST = -3, -1, -2
"""Ids that no layer has."""

GRADIENT = "gradient_tape/"


class Calls:
    """Notes where each layer's call stands in a graph.

    Attributes:
        parts: by the layer's id, in the order of the first call.
        scopes: name scope to layer id.
        made: names of the operations that were made meanwhile, by the part that they then belong to.
    """

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        self.parts: dict[int, Part] = {}
        self.scopes: dict[str, int] = {}
        self.made: dict[str, int] = {}
        self.graph: Any = None

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Listen to the calls of all layers."""
        with heard(self._model, self._note), self._noting_others():
            yield

    @contextlib.contextmanager
    def _noting_others(self) -> Iterator[None]:
        """Listen to the optimizer and to what computes the loss and the metrics."""
        model, optimizer = self._model, getattr(self._model, "optimizer", None)
        watched = [(model, "compute_loss", LOSS), (model, "compute_metrics", LOSS), (optimizer, "apply", REST)]
        standing_in = [
            (owner, name, self._making(getattr(owner, name), number))
            for owner, name, number in watched
            if owner is not None
        ]
        with _in_place(standing_in):
            yield

    def _making(self, function: Any, number: int) -> Any:
        def noted(*args: Any, **kwargs: Any) -> Any:
            graph = tf.compat.v1.get_default_graph() if tf.inside_function() else None
            before = len(graph.get_operations()) if graph is not None else 0
            result = function(*args, **kwargs)
            if graph is not None and graph is self.graph:
                self.made |= {operation.name: number for operation in graph.get_operations()[before:]}
            return result

        return noted

    def _note(self, layer: keras.Layer, inputs: Any, outputs: Any) -> None:
        graph = tf.compat.v1.get_default_graph() if tf.inside_function() else None
        if graph is not None and (self.graph is None or graph is self.graph):
            part = self.parts.setdefault(id(layer), Part(layer))
            part.inputs = part.inputs or tensors(inputs)
            part.outputs += tensors(outputs)
            self.scopes[graph.get_name_scope()] = id(layer)

    def names(self) -> dict[int, str]:
        """What each part is called: no two alike, as facts are looked up by name.

        Keras lets layers within layers have one name, such as those of a block that is used twice: the second that is
        called is told as `name#2`.
        """
        found: dict[int, str] = {}
        taken: set[str] = set()
        for key, part in self.parts.items():
            own = part.layer if isinstance(part.layer, str) else part.layer.name
            others = (f"{own}#{number}" for number in itertools.count(2))
            found[key] = next(name for name in itertools.chain([own], others) if name not in taken)
            taken.add(found[key])
        return found

    def of(self, name: str) -> int | None:
        """The layer that an operation of this name belongs to."""
        scope = name
        while scope.startswith(GRADIENT):
            scope = scope.removeprefix(GRADIENT)
        while scope:
            if scope in self.scopes:
                return self.scopes[scope]
            scope = scope.rpartition("/")[0]
        return None


@contextlib.contextmanager
def heard(model: keras.Model, note: Callable[[keras.Layer, Any, Any], None]) -> Iterator[None]:
    """Tell of each call of the layers that are `worth_noting`: the layer, its arguments, and what it returned.

    Args:
        model: whose layers' calls stand aside for a while.
        note: called in the name scope of the layer's call.
    """

    def telling(layer: keras.Layer, call: Any) -> Any:
        def told(*args: Any, **kwargs: Any) -> Any:
            result = call(*args, **kwargs)
            note(layer, (args, kwargs), result)
            return result

        return told

    layers = [layer for layer in model._flatten_layers(include_self=False) if worth_noting(layer)]
    with _in_place([(layer, "call", telling(layer, layer.call)) for layer in layers]):
        yield


@contextlib.contextmanager
def _in_place(functions: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Functions as methods of objects for a while: (object, name, function). All is as it was afterwards."""
    before = [(owner, name, vars(owner).get(name)) for owner, name, _ in functions]
    for owner, name, function in functions:
        vars(owner)[name] = function
    try:
        yield
    finally:
        for owner, name, own in before:
            vars(owner).pop(name)
            if own is not None:  # else it is inherited again
                vars(owner)[name] = own


def worth_noting(layer: keras.Layer) -> bool:
    """Layers that do something themselves: not inputs, not models, which only call others, and not cells of an RNN."""
    is_cell = hasattr(layer, "state_size") and not isinstance(layer, keras.layers.RNN)
    return not is_cell and not isinstance(layer, (keras.layers.InputLayer, keras.Model))
