"""Costs of a dense layer, worked out by hand: 2 m n k FLOPs a product, three products, bytes of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.explain.costs import layer_cost, layer_costs, rate_dtype
from autotune.hardware.catalogue import bundled
from autotune.trial.anatomy import LayerAnatomy
from tests.explain.made import CARD, dense, outside, product, step


def test_flops_and_bytes_of_a_dense_layer() -> None:
    cost = layer_cost(dense(10, 100, 50), CARD, 1.0)
    assert cost.forward_flops == 2 * 10 * 100 * 50
    assert cost.backward_flops == 2 * cost.forward_flops
    assert cost.moved_bytes == 3 * 4 * (100 * 50 + 10 * 150)
    assert cost.fused_bytes == cost.moved_bytes  # nothing beside the products
    assert cost.intensity == pytest.approx(cost.flops / cost.moved_bytes)


def test_the_side_of_the_roofline_decides_the_time() -> None:
    thin, thick = layer_cost(dense(1, 1000, 1000), CARD, 1.0), layer_cost(dense(1000, 1000, 1000), CARD, 1.0)
    assert (thin.bound, thick.bound) == ("memory", "compute")
    assert thin.ridge == pytest.approx(1e12 / 100e9)
    assert thin.time_ms == pytest.approx(thin.moved_bytes / 100e9 * 1e3)
    assert thick.time_ms == pytest.approx(thick.flops / 1e12 * 1e3)


def test_half_the_bytes_take_half_the_time_where_memory_bounds() -> None:
    full, half = layer_cost(dense(1, 1000, 1000), CARD, 1.0), layer_cost(dense(1, 1000, 1000, 2), CARD, 1.0)
    assert full.time_ms == pytest.approx(2 * (half.time_ms or 0))


def test_a_larger_batch_moves_the_weights_once() -> None:
    one, ten = layer_cost(dense(10, 100, 50), CARD, 1.0), layer_cost(dense(10, 100, 50), CARD, 10.0)
    assert ten.flops == 10 * one.flops
    assert ten.moved_bytes == 3 * 4 * (100 * 50 + 100 * 150)
    assert ten == layer_cost(dense(100, 100, 50), CARD, 1.0)


def test_what_is_beside_products_is_fused_away() -> None:
    layer = dense(1, 1000, 1000)
    with_activation = replace(layer, batch_bytes=layer.batch_bytes + 10**9)
    unfused, fused = (layer_cost(with_activation, CARD, 1.0, fused=flag).time_ms or 0 for flag in (False, True))
    assert unfused - fused == pytest.approx(1e9 / 100e9 * 1e3)


def test_the_optimizer_does_not_grow_with_the_batch() -> None:
    rest = outside("(rest of the step)", weight_bytes=10**6)
    assert layer_cost(rest, CARD, 1.0).time_ms == layer_cost(rest, CARD, 64.0).time_ms


def test_a_rate_that_is_not_known_is_no_time() -> None:
    assert layer_cost(dense(10, 100, 50), replace(CARD, peaks=()), 1.0).time_ms is None
    assert layer_cost(dense(10, 100, 50), replace(CARD, bandwidth_gb_s=None), 1.0).time_ms is None


def test_every_layer_has_a_cost() -> None:
    made = step("float32", 32, 4, (10, 20), (20, 5))
    assert [cost.name for cost in layer_costs(made, CARD, 64)] == [layer.name for layer in made.layers]


def test_the_rate_of_a_dtype_is_the_hardwares() -> None:
    assert rate_dtype(bundled("a100_sxm4_40gb"), "float32") == "tf32"
    assert rate_dtype(bundled("rtx2060"), "float32") == "float32"
    assert rate_dtype(bundled("rtx2060"), "bfloat16") is None
    assert rate_dtype(bundled("cpu_zen4"), "bfloat16") == "bfloat16"


def test_xla_makes_neither_the_optimizer_nor_the_loss_free() -> None:
    """A fused update reads a weight, its gradient and its slots, and writes the weight and its slots: 3 + 2 a slot."""
    made = step("float32", 32, 4, (10, 20))
    rest = {slots: layer_costs(made, CARD, 32, fused=True, slots=slots)[-1] for slots in (None, 0, 2)}
    assert rest[0].time_ms == pytest.approx(4 * 200 * 3 / 100e9 * 1e3)
    assert rest[2].fused_bytes == min(20 * 200, 4 * 200 * 7)
    assert rest[None].fused_bytes == rest[None].moved_bytes == 20 * 200
    loss = layer_costs(made, CARD, 32, fused=True, slots=0)[-2]
    assert loss.time_ms == layer_costs(made, CARD, 32)[-2].time_ms != 0


def depthwise(size: int, operation: str = "DepthwiseConv2dNative") -> LayerAnatomy:
    """64 channels of 32 images of 56 x 56, 9 products of one column each."""
    channels, positions = 64, 32 * 56 * 56
    forward = replace(
        product(positions, 1, 9, size), operation=operation, count=channels, batch_bytes=2 * size * channels * positions
    )
    layer = dense(32, 10, 10, size)
    return replace(
        layer, products=(forward,), weight_bytes=forward.weight_bytes, batch_bytes=forward.batch_bytes, parameters=576
    )


def test_16_bit_halves_the_bytes_of_a_depthwise_convolution_and_no_more() -> None:
    for target in map(bundled, ("rtx2060", "a100_sxm4_40gb")):
        for operation in ("DepthwiseConv2dNative", "Conv2D"):
            full, half = (layer_cost(depthwise(size, operation), target, 1.0) for size in (4, 2))
            assert (full.bound, half.bound) == ("memory", "memory")
            assert full.tiling is None
            assert (full.time_ms or 0) / (half.time_ms or 1) == pytest.approx(2.0, rel=0.01)
