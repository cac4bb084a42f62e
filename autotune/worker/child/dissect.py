"""Traces one training step of a compiled model, runs nothing, and tells which operations each layer brought.

It is traced for a batch that is a prime number and divides no weight's size, so that no activation has as many elements
as a weight, and told for the batch that was asked for. A model that takes its own batch alone is traced with that.
"""

from __future__ import annotations

import math
from typing import Any

import keras
import tensorflow as tf

from autotune.trial.anatomy import Product, StepAnatomy
from autotune.worker.child import graph as tracing
from autotune.worker.child import matrices, step
from autotune.worker.child.calls import GRADIENT, LOSS, OUTSIDE, REST, Calls
from autotune.worker.child.listening import Listener
from autotune.worker.child.parts import Part, at_batch, elements, layer_anatomy, own_weights

_NAMES = {OUTSIDE: "(outside the layers)", LOSS: "(loss)", REST: "(rest of the step)"}

# Operations that TensorFlow folds away, forwards without a kernel, or does on the host in no time.
_NO_KERNEL = frozenset(
    {
        "Const", "Identity", "IdentityN", "NoOp", "Placeholder", "ReadVariableOp", "StopGradient",
        "PreventGradient", "Reshape", "Squeeze", "ExpandDims", "Shape", "ShapeN", "StridedSlice", "Pack",
        "Prod", "Range", "VariableShape", "InvertPermutation", "Rank", "Size", "FloorDiv",
        "BroadcastGradientArgs", "While", "If", "StatelessWhile", "StatelessIf", "PartitionedCall",
        "StatefulPartitionedCall",
    }
)  # fmt: skip
_PYTHON = frozenset({"PyFunc", "EagerPyFunc", "PyFuncStateless", "NumpyFunction"})
_SOFTMAX = frozenset({"Softmax", "LogSoftmax"})

# float16: the largest number, and the largest that rounds to zero (half of the smallest subnormal, 2**-24).
LARGEST = 65504.0
ROUNDS_TO_ZERO = 2.0**-25
_FEW = 16  # elements of a constant that is a number of the code, and no table


def traced_step(model: keras.Model, policy: str, x: Any, y: Any) -> tuple[StepAnatomy, Calls]:
    """The anatomy of a compiled, built model's step for a batch like this one; the batch's values do not matter.

    Args:
        model: compiled by `ModelBuilder`.
        policy: that it was built under.
        x, y: arrays of one batch.
    """
    batch = (tf.convert_to_tensor(x), tf.convert_to_tensor(y))
    model._symbolic_build(data_batch=batch)
    own_size = int(batch[0].shape[0])
    prime: int | None = _no_factor(model, own_size)
    try:
        graph, calls, listener = _graph(model, batch, prime or own_size)
    except Exception:  # noqa: BLE001 (whatever is wrong with another batch; what is wrong with its own is raised)
        prime = None
        graph, calls, listener = _graph(model, batch, own_size)
    for part in calls.parts.values():
        part.weights = frozenset(elements([weight]) for weight in own_weights(part.layer))
    _assign(graph, calls, prime)
    told, names = step.traced(model), calls.names()
    anatomy = StepAnatomy(
        policy=policy,
        batch_size=own_size,
        layers=tuple(
            at_batch(layer_anatomy(part, names[key]), prime or own_size, own_size) for key, part in calls.parts.items()
        ),
        output_dtypes=(),
        output_layers=(),
        loss_dtype=listener.loss_dtype,
        own_train_step=told.own if told else False,
        loss_scaling=isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer),
        scales_loss=bool(told and told.scales_loss),
        clips_scaled=bool(told and told.scales_loss) and listener.clips,
        loss_of=_loss_of(graph),
    )
    return anatomy, calls


def _graph(model: keras.Model, batch: tuple[Any, Any], size: int) -> tuple[tf.Graph, Calls, Listener]:
    """The step of a batch of that size, whose other dimensions are this batch's."""
    calls, listener = Calls(model), Listener(model)

    def once(inputs: Any, targets: Any) -> Any:
        calls.graph = tf.compat.v1.get_default_graph()
        return model.train_step((inputs, targets))

    specs = [tf.TensorSpec((size, *part.shape[1:]), part.dtype) for part in batch]
    with calls.noted(), listener.listening():
        function = tf.function(once, autograph=False).get_concrete_function(*specs)
    return function.graph, calls, listener


def _no_factor(model: keras.Model, size: int) -> int:
    """The next prime number that divides the size of no weight."""
    weights = {elements([weight]) for weight in model.weights}
    size = max(size, 2)
    while any(size % factor == 0 for factor in range(2, math.isqrt(size) + 1)) or any(w % size == 0 for w in weights):
        size += 1
    return size


def _assign(graph: tf.Graph, calls: Calls, prime: int | None) -> None:
    for number, name in _NAMES.items():
        calls.parts[number] = Part(name, weights=None if number == REST else frozenset())
    for part in calls.parts.values():
        part.prime = prime
    for operation in tracing._live(graph):
        owner = _owner(operation, calls)
        _count(graph, operation, calls.parts[owner], 1, backward=operation.name.startswith(GRADIENT))
    if not calls.parts[OUTSIDE].operations:
        del calls.parts[OUTSIDE]


def _owner(operation: tf.Operation, calls: Calls) -> int:
    """The layer or the part that an operation belongs to."""
    if (made := calls.made.get(operation.name)) is not None:
        return made
    if (layer := calls.of(operation.name)) is not None:
        return layer
    if operation.name.removeprefix(GRADIENT).startswith("compile_loss"):
        return LOSS
    # Numbers that stand alone, such as a scaled loss or a counter, are the step's, as are variables set by hand.
    alone = all(tensor.shape.num_elements() in (0, 1) for tensor in (*operation.inputs, *operation.outputs))
    return REST if alone or operation.type.startswith("Assign") else OUTSIDE


def _count(graph: tf.Graph, operation: tf.Operation, part: Part, times: int, *, backward: bool) -> None:
    kind = operation.type
    if kind in tracing._CALLS:
        inner_times = times * (tracing._trips(operation) if tracing._CALLS[kind] == "body" else 1)
        inner = tracing._called(graph, operation.get_attr(tracing._CALLS[kind]))
        for each in tracing._live(inner):
            _count(inner, each, part, inner_times, backward=backward)
        return
    if kind in tracing._BRANCHES:
        inner = tracing._called(graph, operation.get_attr(tracing._BRANCHES[kind][0]))
        for each in tracing._live(inner):
            _count(inner, each, part, times, backward=backward)
        return
    if kind == "Const":
        _note_constant(operation, part)
    if kind in _NO_KERNEL:
        return
    part.operations += times
    outputs = operation.outputs
    weight_bytes, batch_bytes = _moved(operation, part)
    part.weight_bytes += weight_bytes * times
    part.batch_bytes += batch_bytes * times
    if kind == "Cast" and not backward and _casts_activation(operation):
        part.casts += 1
    part.float64 += any(tensor.dtype == tf.float64 for tensor in outputs)
    part.python += kind in _PYTHON
    if kind in _SOFTMAX and not backward:
        part.softmax.append(outputs[0].dtype.name)
    if (sizes := matrices.sizes(operation)) is not None:
        dtype, grows = tracing._operand_dtype(operation), matrices.grows(operation, backward=backward)
        part.products.append(Product(kind, dtype, *sizes, times, backward, grows, weight_bytes, batch_bytes))


def _moved(operation: tf.Operation, part: Part) -> tuple[int, int]:
    """Bytes that one run reads and writes: of the size of a weight, and of the size of the batch.

    An assignment reads and writes its variable, which stands among the inputs as a handle of no size.
    """
    tensors = [*operation.inputs, *operation.outputs]
    if operation.type.startswith("Assign") and len(operation.inputs) > 1:
        tensors += [operation.inputs[1]] * (1 if operation.type == "AssignVariableOp" else 2)
    of_weights = of_batch = 0
    for tensor in tensors:
        elements = tensor.shape.num_elements() if tensor.shape.rank is not None else None
        if elements is None or tensor.dtype.base_dtype in (tf.resource, tf.variant, tf.string):
            continue
        if part.is_weight(elements):
            of_weights += elements * int(tensor.dtype.size)
        else:
            of_batch += elements * int(tensor.dtype.size)
    return of_weights, of_batch


def _casts_activation(operation: tf.Operation) -> bool:
    """Whether it casts floats to floats, and not a weight: those are small beside a batch of activations."""
    source = operation.inputs[0]
    floats = source.dtype.is_floating and operation.outputs[0].dtype.is_floating
    return (
        floats and source.op.type not in ("ReadVariableOp", "Const", "Identity") and source.shape.rank not in (0, None)
    )


def _note_constant(operation: tf.Operation, part: Part) -> None:
    dtype, consumers = operation.outputs[0].dtype, operation.outputs[0].consumers()
    if any(one.type == "Cast" and one.outputs[0].dtype == tf.float16 for one in consumers):
        dtype = tf.float16
    if not dtype.is_floating or (operation.outputs[0].shape.num_elements() or _FEW + 1) > _FEW:
        return
    for value in map(float, tf.make_ndarray(operation.get_attr("value")).astype("float64").ravel()):
        if not -LARGEST <= value <= LARGEST or 0 < abs(value) <= ROUNDS_TO_ZERO:
            part.constants[value if math.isfinite(value) else None, dtype.name] = None


def _loss_of(graph: tf.Graph) -> tuple[str, ...]:
    """What each cross-entropy of the step is computed from, read off the graph."""
    found: dict[str, None] = {}
    for operation in graph.get_operations():
        if operation.name.startswith(GRADIENT):
            continue
        if operation.type in ("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"):
            found[{"Softmax": "softmax", "Sigmoid": "sigmoid"}.get(_source(operation.inputs[0]), "logits")] = None
        elif operation.type == "Log" and "loss" in operation.name:
            source = _source(operation.inputs[0])
            found[f"log of {source.lower() if source in ('Softmax', 'Sigmoid') else 'other'}"] = None
    return tuple(found)


def _source(tensor: Any) -> str:
    """The operation that made a tensor, behind casts, clips and the like."""
    operation = tensor.op
    while operation.type in (
        "Cast", "Identity", "Reshape", "Squeeze", "ClipByValue", "Minimum", "Maximum", "RealDiv", "AddV2", "Sub"
    ):  # fmt: skip
        operation = operation.inputs[0].op
    return str(operation.type)
