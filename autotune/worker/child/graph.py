"""What a traced training step multiplies, in which dtype: read from the graph that TensorFlow is given to run.

A layer says which dtype it is to compute in; its `call` may cast to another one all the same, and a training step of a
person's own may leave the layers aside. The graph knows. TensorFlow's own graph rewrites come after it, and by default
they leave dtypes alone.

An operation is counted once where it stands, its FLOPs as often as it runs: those of a loop's body times the loop's
limit, where that is known; of branches, the one with most. Operations that nothing uses are pruned before they run,
such as the gradient of a first convolution's input, so they do not count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from autotune.trial import Products
from autotune.worker.child.matrices import einsum_indices

# Operation -> the attributes that name the functions it calls.
_CALLS = {"PartitionedCall": "f", "StatefulPartitionedCall": "f", "While": "body", "StatelessWhile": "body"}
_BRANCHES = {"If": ("then_branch", "else_branch"), "StatelessIf": ("then_branch", "else_branch")}
_CASES = ("Case", "StatelessCase")

_Tally = list[tuple[str, int, int]]
"""(dtype, operations, FLOPs)"""


def products(graph: tf.Graph) -> tuple[Products, ...]:
    """Matrix products and convolutions of a function's graph and of all that it calls, most FLOPs first."""
    operations: Counter[str] = Counter()
    flops: Counter[str] = Counter()
    for dtype, count, size in _tally(graph):
        operations[dtype] += count
        flops[dtype] += size
    ordered = sorted(operations, key=lambda dtype: (-flops[dtype], dtype))
    return tuple(Products(dtype, operations[dtype], flops[dtype]) for dtype in ordered)


def _tally(graph: tf.Graph) -> _Tally:
    found: _Tally = []
    for operation in _live(graph):
        kind = operation.type
        if kind in _FLOPS:
            found.append((_operand_dtype(operation), 1, _FLOPS[kind](operation) or 0))
        elif kind == "Einsum" and len(operation.inputs) == 2:
            found.append((_operand_dtype(operation), 1, _einsum(operation) or 0))
        elif kind in _CALLS:
            times = _trips(operation) if _CALLS[kind] == "body" else 1
            found += [(d, n, times * f) for d, n, f in _tally(_called(graph, operation.get_attr(_CALLS[kind])))]
        elif kind in _BRANCHES or kind in _CASES:
            names = operation.get_attr("branches") if kind in _CASES else map(operation.get_attr, _BRANCHES[kind])
            tallies = [_tally(_called(graph, name)) for name in names]
            found += max(tallies, key=lambda tally: sum(flops for _, _, flops in tally))
    return found


def _live(graph: tf.Graph) -> Iterator[tf.Operation]:
    """Operations that the function's results or its side effects need, as TensorFlow keeps them."""
    waiting = [tensor.op for tensor in graph.outputs] + list(graph.control_outputs)
    seen: set[str] = set()
    while waiting:
        operation = waiting.pop()
        if operation.name not in seen:
            seen.add(operation.name)
            waiting += [tensor.op for tensor in operation.inputs]
            waiting += operation.control_inputs
            yield operation


def _called(graph: tf.Graph, function: Any) -> tf.Graph:
    return graph._get_function(function.name).graph


def _trips(loop: tf.Operation) -> int:
    """How often a loop runs at most; 1 where that is not known.

    The second input of TensorFlow's loops is their limit, forward and backward; Keras gives its recurrent layers the
    largest of the lengths, of which there is one.
    """
    limit = loop.inputs[1]
    if limit.op.type == "Max":
        limit = limit.op.inputs[0]
    value = tf.get_static_value(limit)
    return max(1, int(value.max())) if value is not None and value.size else 1


def _operand_dtype(operation: tf.Operation) -> str:
    floating = [tensor.dtype for tensor in operation.inputs if tensor.dtype.is_floating]
    return str((floating or [operation.outputs[0].dtype])[0].name)


def _twice(*factors: int | None) -> int | None:
    """A multiply-add counts as two; None where a size is not known."""
    return None if None in factors else 2 * math.prod(factor for factor in factors if factor is not None)


def _matmul(operation: tf.Operation) -> int | None:
    """Each element of the output is a sum over the axis that both operands share."""
    transposed = operation.get_attr("transpose_a" if operation.type == "MatMul" else "adj_x")
    left = operation.inputs[0].shape
    if left.rank is None:
        return None
    return _twice(operation.outputs[0].shape.num_elements(), left[-2 if transposed else -1])


def _convolution(
    output: Callable[[tf.Operation], tf.Tensor], kernel: Callable[[tf.Operation], tf.Tensor], *, depthwise: bool = False
) -> Callable[[tf.Operation], int | None]:
    """Forward and both gradients cost alike: each output position and channel meets the kernel once.

    A kernel is (*window, inputs of one output channel, outputs); a depthwise one has a single input for each.
    """

    def flops(operation: tf.Operation) -> int | None:
        shape = kernel(operation).shape
        if shape.rank is None:
            return None
        return _twice(output(operation).shape.num_elements(), shape[: -2 if depthwise else -1].num_elements())

    return flops


def _einsum(operation: tf.Operation) -> int | None:
    """One multiply-add for each combination of indices."""
    found = einsum_indices(operation)
    return None if found is None else _twice(*found[1].values())


def _cudnn_rnn(passes: int) -> Callable[[tf.Operation], int | None]:
    """A recurrent layer of cuDNN is one operation: each weight meets each time step of each example."""

    def flops(operation: tf.Operation) -> int | None:
        series, weights = operation.inputs[0].shape, operation.inputs[3].shape
        if series.rank is None:
            return None
        return _twice(passes, series[:2].num_elements(), weights.num_elements())

    return flops


def _result(operation: tf.Operation) -> tf.Tensor:
    return operation.outputs[0]


def _input(place: int) -> Callable[[tf.Operation], tf.Tensor]:
    return lambda operation: operation.inputs[place]


_FLOPS: dict[str, Callable[[tf.Operation], int | None]] = {
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _matmul),
    **dict.fromkeys(("Conv2D", "Conv3D", "Conv"), _convolution(_result, _input(1))),
    **dict.fromkeys(
        ("Conv2DBackpropInput", "Conv3DBackpropInput", "Conv3DBackpropInputV2"), _convolution(_input(2), _input(1))
    ),
    **dict.fromkeys(
        ("Conv2DBackpropFilter", "Conv3DBackpropFilter", "Conv3DBackpropFilterV2"), _convolution(_input(2), _result)
    ),
    "DepthwiseConv2dNative": _convolution(_result, _input(1), depthwise=True),
    "DepthwiseConv2dNativeBackpropInput": _convolution(_input(2), _input(1), depthwise=True),
    "DepthwiseConv2dNativeBackpropFilter": _convolution(_input(2), _result, depthwise=True),
    **dict.fromkeys(("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"), _cudnn_rnn(1)),
    **dict.fromkeys(("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"), _cudnn_rnn(2)),
}
