"""The examples of NVIDIA's guide, and products worked out by hand."""

from __future__ import annotations

import pytest

from autotune.explain.tiles import speed, tiling


def test_a_product_of_whole_tiles_wastes_nothing() -> None:
    found = tiling(1024, 1024, 1, 32)
    assert (found.tile, found.tiles, found.waves) == ((256, 128), 32, 1)
    assert found.efficiency == 1.0


def test_the_last_tile_is_as_slow_as_a_full_one() -> None:
    """One row more than 1024 needs another row of tiles."""
    found = tiling(1025, 1024, 1, 1)
    assert found.tile_efficiency == pytest.approx(1025 / 1088)  # 17 tiles of 64 are the best fit
    assert found.tile[0] == 64


def test_the_last_wave_is_as_slow_as_a_full_one() -> None:
    """The guide's own case: 109 tiles on 108 multiprocessors take two waves, as do 216."""
    assert tiling(256 * 108, 128, 1, 108).wave_efficiency == 1.0
    one_more = tiling(256 * 109, 128, 1, 108)
    assert one_more.efficiency < tiling(256 * 108, 128, 1, 108).efficiency


def test_many_small_products_fill_waves_together() -> None:
    assert tiling(64, 64, 80, 80).efficiency == 1.0
    assert tiling(64, 64, 1, 80).wave_efficiency == pytest.approx(1 / 80)


def test_few_tiles_share_a_long_sum() -> None:
    alone = tiling(64, 64, 1, 80).efficiency
    assert speed(64, 64, 64, 1, 80) == pytest.approx(alone)  # too short to share
    assert speed(64, 64, 128 * 80, 1, 80) == pytest.approx(1.0)


def test_a_size_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        tiling(0, 64, 1, 80)
