"""Products of traced functions, counted by hand: an (m, k) by (k, n) product is 2 m k n FLOPs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autotune.trial import Products

pytestmark = pytest.mark.slow


def traced(function: Callable[..., Any], *shapes: tuple[int | None, ...], dtype: str = "float32") -> Any:
    """Products of a function of tensors of these shapes."""
    import tensorflow as tf

    from autotune.worker.child.graph import products

    specs = [tf.TensorSpec(shape, dtype) for shape in shapes]
    return products(tf.function(function).get_concrete_function(*specs).graph)


def with_gradients(function: Callable[..., Any], *watched: int) -> Callable[..., Any]:
    import tensorflow as tf

    def both(*inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = function(*inputs)
        return [result, *tape.gradient(result, [inputs[place] for place in watched or range(len(inputs))])]

    return both


def one(dtype: str, operations: int, flops: int) -> tuple[Products, ...]:
    return (Products(dtype, operations, flops),)


def test_matrix_products_in_every_orientation() -> None:
    import tensorflow as tf

    assert traced(tf.matmul, (2, 3), (3, 5)) == one("float32", 1, 60)
    assert traced(lambda a, b: tf.matmul(a, b, transpose_a=True), (3, 2), (3, 5)) == one("float32", 1, 60)
    assert traced(lambda a, b: tf.matmul(a, b, transpose_b=True), (2, 3), (5, 3)) == one("float32", 1, 60)
    assert traced(lambda a, b: tf.matmul(a, b, adjoint_a=True), (7, 3, 2), (7, 3, 5)) == one("float32", 1, 420)
    assert traced(with_gradients(tf.matmul), (2, 3), (3, 5), dtype="bfloat16") == one("bfloat16", 3, 180)


CONVOLUTIONS = [
    # input, kernel, output positions and channels times kernel positions and inputs of one channel
    ("conv2d", (2, 8, 8, 3), (3, 3, 3, 16), 2 * 2 * 8 * 8 * 16 * 3 * 3 * 3),
    ("conv3d", (2, 4, 4, 4, 3), (3, 3, 3, 3, 5), 2 * 2 * 4 * 4 * 4 * 5 * 27 * 3),
    ("depthwise", (2, 8, 8, 6), (3, 3, 6, 2), 2 * 2 * 8 * 8 * 12 * 3 * 3),
    ("grouped", (2, 8, 8, 4), (3, 3, 2, 6), 2 * 2 * 8 * 8 * 6 * 3 * 3 * 2),
]


@pytest.mark.parametrize(("name", "shape", "kernel", "flops"), CONVOLUTIONS)
def test_a_convolution_and_its_two_gradients_cost_alike(
    name: str, shape: tuple[int, ...], kernel: tuple[int, ...], flops: int
) -> None:
    import tensorflow as tf

    functions = {
        "conv2d": lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
        "conv3d": lambda x, w: tf.nn.conv3d(x, w, (1,) * 5, "SAME"),
        "depthwise": lambda x, w: tf.nn.depthwise_conv2d(x, w, (1,) * 4, "SAME"),
        "grouped": lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
    }
    assert traced(functions[name], shape, kernel, dtype="float16") == one("float16", 1, flops)
    assert traced(with_gradients(functions[name]), shape, kernel, dtype="float16") == one("float16", 3, 3 * flops)


def test_what_nothing_uses_is_not_run() -> None:
    """The gradient of a convolution makes both of its own; the first layer's input needs none."""
    import tensorflow as tf

    gradient = with_gradients(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), 1)
    assert traced(gradient, (2, 8, 8, 3), (3, 3, 3, 16)) == one("float32", 2, 2 * CONVOLUTIONS[0][3])


@pytest.mark.parametrize(
    ("equation", "left", "right", "flops"),
    [
        ("abc,cde->abde", (2, 3, 4), (4, 5, 6), 2 * 2 * 3 * 4 * 5 * 6),
        ("...ij,...jk->...ik", (7, 1, 2, 3), (5, 3, 4), 2 * 7 * 5 * 2 * 3 * 4),
        ("ij,j->i", (3, 4), (4,), 24),
    ],
)
def test_einsum(equation: str, left: tuple[int, ...], right: tuple[int, ...], flops: int) -> None:
    import tensorflow as tf

    found = traced(lambda a, b: tf.raw_ops.Einsum(inputs=[a, b], equation=equation), left, right)
    assert found == one("float32", 1, flops)


def test_an_einsum_of_one_operand_is_no_product() -> None:
    import tensorflow as tf

    assert traced(lambda a: tf.raw_ops.Einsum(inputs=[a], equation="ij->ji"), (2, 3)) == ()


def test_a_size_that_is_not_known_is_counted_and_not_guessed() -> None:
    import tensorflow as tf

    assert traced(tf.matmul, (None, 3), (3, 5)) == one("float32", 1, 0)
    assert traced(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), (None, 8, 8, 3), (3, 3, 3, 4)) == one("float32", 1, 0)


def test_dtypes_are_told_apart_in_functions_within_functions() -> None:
    import tensorflow as tf

    @tf.function(jit_compile=True)
    def inner(a: Any, b: Any) -> Any:
        return tf.cast(tf.matmul(tf.cast(a, "float16"), tf.cast(b, "float16")), "float32")

    @tf.function
    def middle(a: Any, b: Any) -> Any:
        return inner(a, b)

    found = traced(lambda a, b: tf.matmul(middle(a, b), b), (4, 4), (4, 4))
    assert found == (Products("float16", 1, 128), Products("float32", 1, 128))
    doubled = traced(lambda a, b: tf.matmul(tf.matmul(middle(a, b), b), b), (4, 4), (4, 4))
    assert doubled == (Products("float32", 2, 256), Products("float16", 1, 128)), "most FLOPs first"


def test_of_two_branches_the_larger_counts() -> None:
    import tensorflow as tf

    def branching(a: Any, b: Any) -> Any:
        return tf.cond(a[0, 0] > 0, lambda: a @ b, lambda: (a @ b) @ b)

    def switching(a: Any, b: Any) -> Any:
        return tf.switch_case(tf.cast(a[0, 0], "int32"), [lambda: a, lambda: a @ b, lambda: b])

    assert traced(branching, (4, 4), (4, 4)) == one("float32", 2, 256)
    assert traced(switching, (4, 4), (4, 4)) == one("float32", 1, 128)


def test_a_loop_counts_as_often_as_it_runs_where_that_is_known() -> None:
    import tensorflow as tf

    def loop(limit: int | None) -> Callable[[Any, Any], Any]:
        return lambda a, b: tf.while_loop(
            lambda x: tf.reduce_sum(x) < 10, lambda x: (x @ b,), (a,), maximum_iterations=limit
        )

    assert traced(loop(7), (4, 4), (4, 4)) == one("float32", 1, 7 * 128)
    assert traced(loop(None), (4, 4), (4, 4)) == one("float32", 1, 128)


def test_a_recurrent_layer_multiplies_at_every_time_step() -> None:
    """LSTM of 8 units on 5 steps of 3: four gates of (3 + 8) x 8 weights; backward costs twice as much as forward."""
    import keras

    layer = keras.layers.LSTM(8, use_cudnn=False)
    layer.build((2, 5, 3))
    forward = 2 * 2 * 5 * 4 * 8 * (3 + 8)
    assert traced(layer.call, (2, 5, 3)) == one("float32", 2, forward)
    assert traced(with_gradients(layer.call), (2, 5, 3)) == one("float32", 6, 3 * forward)


def test_recurrent_layers_of_cudnn_are_one_operation() -> None:
    import tensorflow as tf

    def lstm(x: Any, h: Any, c: Any, weights: Any) -> Any:
        return tf.raw_ops.CudnnRNNV2(input=x, input_h=h, input_c=c, params=weights)[0]

    weights = 4 * 8 * (3 + 8) + 2 * 4 * 8
    found = traced(lstm, (5, 2, 3), (1, 2, 8), (1, 2, 8), (weights,), dtype="float16")
    assert found == one("float16", 1, 2 * 5 * 2 * weights)
    trained = traced(with_gradients(lstm), (5, 2, 3), (1, 2, 8), (1, 2, 8), (weights,), dtype="float16")
    assert trained == one("float16", 2, 3 * 2 * 5 * 2 * weights)


def test_nothing_multiplied_is_nothing_found() -> None:
    assert traced(lambda a: a * 2, (3,)) == ()
