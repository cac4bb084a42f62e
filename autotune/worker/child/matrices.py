"""The matrix product that an operation of TensorFlow amounts to: rows, columns, summed elements, and how many of them.

A convolution is the implicit product of (batch x positions, window x inputs) and (window x inputs, outputs). Its
gradients exchange the three (NVIDIA, Convolutional Layers User's Guide, table 1):

    forward                 m = batch x positions        n = outputs        k = window x inputs
    gradient of the input   m = batch x input positions  n = inputs         k = window x outputs
    gradient of the kernel  m = window x inputs          n = outputs        k = batch x positions
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

Sizes = tuple[int, int, int, int]
"""m, n, k and the number of such products."""


def sizes(operation: tf.Operation) -> Sizes | None:
    """The product, or None where the operation is none or its sizes are not known."""
    found = _OPERATIONS.get(operation.type)
    if found is None:
        return None
    try:
        product = found(operation)
    except (TypeError, ValueError, IndexError):  # an unknown length
        return None
    return product if product is None or all(size > 0 for size in product) else None


def grows(operation: tf.Operation, *, backward: bool) -> str:
    """Which of m, n, k and count the batch is in.

    The gradient of a weight sums over the batch. A product of two activations, as in attention, is made for each
    example by itself.
    """
    kind = operation.type
    if kind.endswith(("BackpropFilter", "BackpropFilterV2")):
        return "k"
    if kind == "MatMul":
        return "k" if backward and operation.get_attr("transpose_a") else "m"
    if kind.startswith("BatchMatMul"):
        return "count"
    if kind == "Einsum":
        product = sizes(operation)
        batch = operation.inputs[0].shape[0]
        if product is None or batch is None or product[3] % int(batch) == 0:
            return "count"
        return "k" if backward and product[0] % int(batch) else "m"
    return "m"


def _matmul(operation: tf.Operation) -> Sizes:
    plain = operation.type == "MatMul"
    left = [int(size) for size in operation.inputs[0].shape]
    output = [int(size) for size in operation.outputs[0].shape]
    transposed = operation.get_attr("transpose_a" if plain else "adj_x")
    summed = left[-2 if transposed else -1]
    return output[-2], output[-1], summed, math.prod(output[:-2])


def _einsum(operation: tf.Operation) -> Sizes | None:
    """Indices of both operands and the result are a batch, of both alone are summed, of one are rows or columns."""
    if len(operation.inputs) != 2 or (found := einsum_indices(operation)) is None:
        return None
    (a, b, out), lengths = found

    def product(indices: set[str]) -> int:
        return math.prod(int(lengths[index]) for index in indices)

    return product((a - b) & out), product((b - a) & out), product((a & b) - out), product(a & b & out)


def einsum_indices(operation: tf.Operation) -> tuple[list[set[str]], dict[str, Any]] | None:
    """The indices of each operand and of the result, and the length of each: None where it is not known.

    Dimensions under an ellipsis are aligned from the right, and one of length 1 is as long as another operand has it.
    None where a tensor's rank is not known.
    """
    tensors = [*operation.inputs, operation.outputs[0]]
    if any(tensor.shape.rank is None for tensor in tensors):
        return None
    operands, result = operation.get_attr("equation").decode().split("->")
    terms: list[set[str]] = []
    lengths: dict[str, Any] = {}
    for term, tensor in zip((*operands.split(","), result), tensors, strict=True):
        before, dots, after = term.partition("...")
        hidden = tensor.shape.rank - len(before) - len(after) if dots else 0
        indices = [*before, *(f"...{hidden - place}" for place in range(hidden)), *after]
        terms.append(set(indices))
        for index, size in zip(indices, tensor.shape.as_list(), strict=True):
            lengths[index] = size if lengths.get(index) in (None, 1) else lengths[index]
    return terms, lengths


def _convolution(
    result: Callable[[tf.Operation], Any],
    kernel: Callable[[tf.Operation], Any],
    source: Callable[[tf.Operation], Any],
    gradient: str = "",
    *,
    depthwise: bool = False,
) -> Callable[[tf.Operation], Sizes]:
    def product(operation: tf.Operation) -> Sizes:
        window = [int(size) for size in kernel(operation).shape]
        positions = math.prod(int(size) for size in result(operation).shape) // _channels(operation, result(operation))
        inputs_in_all = _channels(operation, source(operation))
        if depthwise:
            groups, inputs, outputs = window[-2], 1, window[-1]
        else:
            inputs = window[-2]
            groups = max(1, inputs_in_all // inputs)
            outputs = window[-1] // groups
        area = math.prod(window[:-2])
        if gradient == "input":
            spread = math.prod(int(size) for size in source(operation).shape) // inputs_in_all
            # Each kernel element meets each output position once, whatever the stride.
            return spread, inputs, max(1, area * outputs * positions // spread), groups
        if gradient == "kernel":
            return area * inputs, outputs, positions, groups
        return positions, outputs, area * inputs, groups

    return product


def _channels(operation: tf.Operation, tensor: Any) -> int:
    layout = operation.get_attr("data_format").decode()
    return int(tensor.shape[1 if layout.startswith("NC") else -1])


def _output(operation: tf.Operation) -> Any:
    return operation.outputs[0]


def _input(place: int) -> Callable[[tf.Operation], Any]:
    return lambda operation: operation.inputs[place]


_OPERATIONS: dict[str, Callable[[tf.Operation], Sizes | None]] = {
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _matmul),
    "Einsum": _einsum,
    **dict.fromkeys(("Conv2D", "Conv3D", "Conv"), _convolution(_output, _input(1), _input(0))),
    **dict.fromkeys(
        ("Conv2DBackpropInput", "Conv3DBackpropInputV2"), _convolution(_input(2), _input(1), _output, "input")
    ),
    **dict.fromkeys(
        ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2"), _convolution(_input(2), _output, _input(0), "kernel")
    ),
    "DepthwiseConv2dNative": _convolution(_output, _input(1), _input(0), depthwise=True),
    "DepthwiseConv2dNativeBackpropInput": _convolution(_input(2), _input(1), _output, "input", depthwise=True),
    "DepthwiseConv2dNativeBackpropFilter": _convolution(_input(2), _output, _input(0), "kernel", depthwise=True),
}
