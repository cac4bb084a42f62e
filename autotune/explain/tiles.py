"""Tiles and waves of a matrix product on a GPU.

A product of m by n elements is cut into tiles, which run on the multiprocessors in waves; the last tile of a row or
column and the last wave are as slow as a full one (NVIDIA, Matrix Multiplication Background User's Guide, sections
"Tile Quantization" and "Wave Quantization"):

    tiles            = ceil(m / tile_m) x ceil(n / tile_n) x count
    tile efficiency  = m x n x count / (tiles x tile_m x tile_n)
    waves            = ceil(tiles / multiprocessors)
    wave efficiency  = tiles / (waves x multiprocessors)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# The sizes that the same guide lists for cuBLAS, the most efficient first.
TILES = ((256, 128), (128, 256), (128, 128), (256, 64), (64, 256), (128, 64), (64, 128), (64, 64))


# Elements of a sum that are worth a multiprocessor of their own; an assumption.
_SHORTEST_SUM = 128


@dataclass(frozen=True, slots=True)
class Tiling:
    """How one product runs: shares of full use, 0 to 1."""

    tile: tuple[int, int]
    tiles: int
    tile_efficiency: float
    waves: int
    wave_efficiency: float

    @property
    def efficiency(self) -> float:
        """Of both together."""
        return self.tile_efficiency * self.wave_efficiency


def tiling(m: int, n: int, count: int, multiprocessors: int) -> Tiling:
    """With the tile that suits it best, as a library would choose; the largest of equals.

    Raises:
        ValueError: a size that is not positive.
    """
    if min(m, n, count, multiprocessors) < 1:
        raise ValueError(f"sizes must be positive, but got {m} x {n}, {count} times on {multiprocessors}")
    return max((_with(tile, m, n, count, multiprocessors) for tile in TILES), key=lambda found: found.efficiency)


def speed(m: int, n: int, k: int, count: int, multiprocessors: int) -> float:
    """Share of the peak that tiles and waves leave, 0 to 1, where few tiles share the sum among multiprocessors.

    Libraries split a long sum ("split-K", same guide, "Typical Tile Dimensions in cuBLAS and Performance").
    """
    found = tiling(m, n, count, multiprocessors)
    parts = max(1, min(multiprocessors // found.tiles, k // _SHORTEST_SUM))
    tiles = found.tiles * parts
    waves = math.ceil(tiles / multiprocessors)
    return found.tile_efficiency * tiles / (waves * multiprocessors)


def _with(tile: tuple[int, int], m: int, n: int, count: int, multiprocessors: int) -> Tiling:
    tiles = math.ceil(m / tile[0]) * math.ceil(n / tile[1]) * count
    waves = math.ceil(tiles / multiprocessors)
    full = tiles * tile[0] * tile[1]
    return Tiling(tile, tiles, m * n * count / full, waves, tiles / (waves * multiprocessors))
