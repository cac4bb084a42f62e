"""Operations of a traced step, by the layer that brought them; products counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.explain.inspected import config, dataset, facts

pytestmark = pytest.mark.slow


def layer(anatomy: Any, name: str) -> Any:
    found = anatomy.layer(name)
    assert found is not None
    return found


def test_a_dense_layer_has_its_product_and_its_gradients() -> None:
    step = facts("tests.explain.faulty.sound").float32
    second = layer(step, "second")
    sizes = [(one.m, one.n, one.k, one.backward, one.grows) for one in second.products]
    assert sorted(sizes) == sorted([(32, 16, 16, False, "m"), (16, 16, 32, True, "k"), (32, 16, 16, True, "m")])
    assert second.flops == 3 * 2 * 32 * 16 * 16
    assert (second.inputs, second.output, second.parameters) == (((32, 16),), (32, 16), 16 * 17)
    assert len(layer(step, "hidden").products) == 2  # the gradient of the inputs is not needed


def test_a_convolution_is_an_implicit_product() -> None:
    step = facts("tests.explain.faulty.many_channels", "images").float32
    second = layer(step, "second")  # 16x16x8 to 14x14x64
    positions = 32 * 14 * 14
    forward, *backward = second.products
    assert (forward.m, forward.n, forward.k, forward.count) == (positions, 64, 9 * 8, 1)
    assert {one.flops for one in backward if one.grows == "k"} == {forward.flops}
    assert [(one.m, one.n, one.k) for one in backward if one.grows == "k"] == [(9 * 8, 64, positions)]


def test_a_depthwise_convolution_is_many_small_products() -> None:
    step = facts("tests.explain.faulty.depthwise", "images").float32
    forward = layer(step, "deep").products[0]
    assert (forward.m, forward.n, forward.k, forward.count) == (32 * 12 * 12, 8, 25, 3)


def test_a_loop_counts_each_of_its_trips() -> None:
    step = facts("tests.explain.faulty.lstm", "series").float32
    cells = layer(step, "cells")
    assert [one.name for one in step.layers[:-2]] == ["cells", "head"]
    assert cells.parameters == 4 * (8 * 4 + 8 * 8 + 8)
    looped = [one for one in cells.products if not one.backward and one.times > 1]
    assert {one.times for one in looped} == {6}
    assert {(one.m, one.n) for one in looped} == {(32, 32)}


@pytest.mark.parametrize(("data", "rows"), [("features", 32), ("series", 32 * 6)])
def test_an_einsum_with_an_ellipsis_has_its_products(data: str, rows: int) -> None:
    """TensorFlow makes the kernel's gradient of each row by itself, and sums them up."""
    shared = layer(facts("tests.explain.peculiar.einsum", data).float32, "shared")
    inputs = shared.inputs[0][-1]
    forward, kernel = shared.products
    assert (forward.m, forward.n, forward.k, forward.count, forward.grows) == (rows, 8, inputs, 1, "m")
    assert (kernel.backward, kernel.flops, kernel.count, kernel.grows) == (True, forward.flops, rows, "count")


def test_the_16_bit_step_is_told_by_its_operations_and_not_by_its_layers() -> None:
    anatomy = facts("tests.explain.faulty.sound")
    assert anatomy.reduced is not None
    assert {one.dtype for one in layer(anatomy.reduced, "hidden").products} == {"float16"}
    assert {one.dtype for one in layer(anatomy.reduced, "head").products} == {"float32"}
    assert anatomy.reduced.loss_scaling
    assert anatomy.reduced.scales_loss
    assert anatomy.reduced.operations > anatomy.float32.operations


def test_layers_without_names_are_the_same_in_both_steps() -> None:
    """Keras calls the second model's layers dense_3 and so on."""
    anatomy = facts("tests.explain.peculiar.nameless")
    assert anatomy.reduced is not None
    own = [[one.name for one in step.layers if not one.is_outside] for step in (anatomy.reduced, anatomy.float32)]
    assert own[0] == own[1]
    assert anatomy.reduced.output_layers == anatomy.float32.output_layers
    assert set(anatomy.ranges.activations if anatomy.ranges else ()) <= {one.name for one in anatomy.reduced.layers}


def test_layers_of_one_name_are_told_apart() -> None:
    """As those within a block that is used twice."""
    anatomy = facts("tests.explain.faulty.blocks")
    assert anatomy.reduced is not None
    assert anatomy.ranges is not None
    for step in (anatomy.float32, anatomy.reduced):
        assert [layer(step, name).output[-1] for name in ("fc", "fc#2", "fc#3")] == [64, 8, 3]
        assert step.output_layers == ("fc#3",)
    largest = [anatomy.ranges.activations[name].largest or 0 for name in ("fc", "fc#2")]
    assert largest[0] > 65504 > largest[1]


def test_bytes_of_weights_and_of_the_batch_are_told_apart() -> None:
    """A batch of twice the size moves the same weights."""
    small, large = (facts("tests.explain.faulty.wide", batch_size=size).float32 for size in (32, 64))
    one, other = layer(small, "second"), layer(large, "second")
    assert one.weight_bytes == other.weight_bytes
    assert other.batch_bytes == pytest.approx(2 * one.batch_bytes, rel=0.01)


def test_numbers_are_those_of_a_real_batch() -> None:
    ranges = facts("tests.explain.faulty.sound").ranges
    assert ranges is not None
    assert ranges.examples == 32
    assert set(ranges.activations) == {"hidden", "second", "head"}
    assert 0.0 <= (ranges.output_low or 0) <= (ranges.output_high or 0) <= 1.0
    assert (ranges.output_sum_off or 0) < 1e-5
    assert ranges.vanishing_scaled <= ranges.vanishing


def test_nothing_is_left_behind_in_the_model_or_in_tensorflow() -> None:
    import tensorflow as tf

    before = tf.GradientTape.gradient, tf.clip_by_global_norm, tf.clip_by_norm
    facts("tests.explain.faulty.clipped_step")
    assert (tf.GradientTape.gradient, tf.clip_by_global_norm, tf.clip_by_norm) == before


def test_what_this_host_can_do_is_measured() -> None:
    from autotune.worker.child.calibrate import calibrated

    found = calibrated(skip=("bfloat16", "float16"))
    assert set(found.tflops) == {"float32"}
    assert min(found.tflops["float32"], found.bandwidth_gb_s, found.operation_us, found.call_ms) > 0


def test_what_is_outside_of_the_layers_grows_with_the_batch_and_is_not_the_optimizers() -> None:
    small, large = (facts("tests.explain.peculiar.swish", "images", batch_size=size).float32 for size in (16, 32))
    one, other = layer(small, "(outside the layers)"), layer(large, "(outside the layers)")
    assert other.batch_bytes == 2 * one.batch_bytes > 1000 * one.weight_bytes
    assert [(each.m, each.n, each.k, each.count) for each in one.products if not each.backward] == [(32, 32, 14, 224)]
    assert other.flops == 2 * one.flops
    weights = sum(each.trainable for each in small.layers)
    rests = [layer(step, "(rest of the step)") for step in (small, large)]
    assert rests[0] == rests[1]
    assert 12 * weights <= rests[0].weight_bytes <= 200 * weights  # some thirty operations of Adam


def test_a_model_of_layers_alone_has_nothing_outside_of_them() -> None:
    step = facts("tests.explain.faulty.sound").float32
    assert [one.name for one in step.layers] == ["hidden", "second", "head", "(loss)", "(rest of the step)"]
    assert not layer(step, "(rest of the step)").batch_bytes


@pytest.mark.parametrize("size", [16, 32, 64])
def test_an_activation_as_large_as_a_weight_is_no_weight(size: int) -> None:
    """16 inputs of a batch of 16 are as many elements as a kernel of 16 x 16 has."""
    step = facts("tests.explain.faulty.sound", batch_size=size).float32
    second = layer(step, "second")
    forward = next(one for one in second.products if not one.backward)
    assert (step.batch_size, second.inputs, second.output) == (size, ((size, 16),), (size, 16))
    assert (forward.weight_bytes, forward.batch_bytes) == (4 * 16 * 16, 4 * 2 * size * 16)


def test_a_penalty_on_weights_does_not_grow_with_the_batch() -> None:
    small, large = (facts("tests.explain.peculiar.regularised", batch_size=size).float32 for size in (32, 64))
    plain = facts("tests.explain.faulty.sound").float32
    one, other = layer(small, "(loss)"), layer(large, "(loss)")
    assert one.weight_bytes == other.weight_bytes > layer(plain, "(loss)").weight_bytes
    assert other.batch_bytes == 2 * one.batch_bytes


def test_a_model_that_takes_one_batch_alone_is_traced_with_that() -> None:
    step = facts("tests.explain.peculiar.alone").float32
    assert layer(step, "hidden").output == (32, 16)
    assert {one.m for one in layer(step, "hidden").products if not one.backward} == {32}


@pytest.mark.parametrize(
    ("builder", "loss", "known", "from_logits"),
    [
        ("compiled_short", "mean_squared_error", True, False),
        ("compiled_object", "mean_squared_error", True, False),
        ("compiled_lambda", "<lambda>", False, False),
        ("compiled_logits", "binary_crossentropy", True, True),
    ],
)
def test_a_builders_loss_is_told_as_keras_spells_it(builder: str, loss: str, known: bool, from_logits: bool) -> None:
    anatomy = facts(f"tests.explain.peculiar.{builder}", "targets", loss="mse")
    assert anatomy.compiled is not None
    assert (anatomy.compiled.loss, anatomy.compiled.known, anatomy.compiled.from_logits) == (loss, known, from_logits)
    assert anatomy.loss == "mean_squared_error"


def test_gradients_of_outputs_are_those_of_the_users_batch() -> None:
    """64 examples at most are looked at, and a loss is averaged over the batch."""
    small, large = (facts("tests.explain.faulty.sound", batch_size=size).ranges for size in (64, 128))
    assert small is not None
    assert large is not None
    assert (small.examples, large.examples) == (64, 64)
    outputs = [each.gradients["second"].largest for each in (small, large)]
    assert min(one or 0 for one in outputs) > 0
    assert small.gradients["second"].present == large.gradients["second"].present > 0


def test_zero_weights_behind_a_layer_do_not_cut_it_off() -> None:
    ranges = facts("tests.explain.peculiar.zero_head", loss="sparse_categorical_crossentropy").ranges
    assert ranges is not None
    assert ranges.gradients["hidden"].largest == 0


def test_the_input_pipeline_is_timed() -> None:
    from autotune.worker.child.inspection import Inspector

    assert (Inspector(config(), dataset("features"))._feed_ms(32) or 0) > 0
