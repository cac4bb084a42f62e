"""Operations of a traced step, by the layer that brought them; products counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.explain.inspected import facts

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
    anatomy = facts("tests.explain.faulty.nameless")
    assert anatomy.reduced is not None
    assert [one.name for one in anatomy.reduced.layers] == [one.name for one in anatomy.float32.layers]
    assert anatomy.reduced.output_layers == anatomy.float32.output_layers
    assert set(anatomy.ranges.activations if anatomy.ranges else ()) <= {one.name for one in anatomy.reduced.layers}


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
