"""A substitute of CIFAR-10's shape, for machines that can neither find nor fetch it.

Made from scikit-learn's handwritten digits: each example is one of them, turned, resized, shifted,
in two random colours, with a second faint digit and noise over it. Speed measured on it is as good
as on CIFAR-10, since shapes and dtypes are the same; accuracy is that of another task. Training and
test examples are made from different digits.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from autotune.data.dataset import Array, LoadedData, Pair
from autotune.data.digit_images import CLASSES, Images, fixed_split, originals
from autotune.errors import DataError

SIDE = 32
SHIFT = 3
"""A digit moves by up to this many pixels each way."""

VARIANTS = 3
"""Turned and resized versions of each digit; with shifts and colours no two examples are alike."""

TURN_DEGREES = 15.0
DIGIT_SIDE = (20.0, 30.0)
"""Smallest and largest height of a digit, pixels."""

PAPER = (0.0, 110.0)
PEN = (110.0, 255.0)
"""Range of each colour channel, of 255."""

OVERLAY_STRENGTH = 0.35
NOISE = 40.0
"""Half-width of the uniform noise, of 255."""

_CHUNK = 250
"""Examples painted at a time; few enough to stay in the CPU cache."""

_NOISE_VALUES = 1 << 22
"""Noise is drawn once and read from random places; drawing it all would take longest."""

WARNING = (
    "NOT CIFAR-10: a stand-in of the same shape, made from scikit-learn's handwritten digits; "
    "accuracies say nothing about CIFAR-10"
)


def load(*, seed: int, train_examples: int = 50_000, test_examples: int = 10_000, reason: str = "") -> LoadedData:
    """uint8 (n, 32, 32, 3) images and (n,) labels; always the same ones for the same numbers.

    Args:
        seed: part of the contract; the stand-in is one dataset and does not depend on it.
        train_examples: how many to make.
        test_examples: how many to make.
        reason: why the real data is not there; goes into `LoadedData.stand_in`.

    Raises:
        DataError: fewer than one example asked for.
    """
    del seed
    if min(train_examples, test_examples) < 1:
        raise DataError(
            f"train_examples and test_examples must be 1 or more, but got {train_examples} and {test_examples}."
        )
    images, labels = originals()
    train, test = fixed_split(labels)
    return LoadedData(
        train=_examples(images[train], labels[train], train_examples, np.random.default_rng(1)),
        test=_examples(images[test], labels[test], test_examples, np.random.default_rng(2)),
        stand_in=f"{WARNING}. Reason: {reason}" if reason else WARNING,
        origin="made from scikit-learn's bundled digits",
        num_classes=CLASSES,
    )


def _examples(digits: Images, labels: Array, count: int, rng: np.random.Generator) -> Pair:
    windows = sliding_window_view(_glyphs(digits, rng), (SIDE, SIDE), axis=(1, 2))
    glyph_labels = np.repeat(labels, VARIANTS)
    # Every glyph is used equally often before any is used once more.
    rounds = -(-count // len(glyph_labels))
    order = np.concatenate([rng.permutation(len(glyph_labels)) for _ in range(rounds)])[:count]
    noise = (rng.random(_NOISE_VALUES, np.float32) * 2 - 1) * np.float32(NOISE)
    x = np.empty((count, SIDE, SIDE, 3), np.uint8)
    for start in range(0, count, _CHUNK):
        x[start : start + _CHUNK] = _painted(windows, order[start : start + _CHUNK], noise, rng)
    return x, glyph_labels[order].astype(np.uint8)


def _painted(windows: Array, chosen: Array, noise: Array, rng: np.random.Generator) -> Array:
    count = len(chosen)
    ink = _shifted(windows, chosen, rng)
    overlay = _shifted(windows, rng.integers(0, len(windows), count), rng)
    strokes = np.maximum(ink, OVERLAY_STRENGTH * overlay)[..., None]
    paper = rng.uniform(*PAPER, (count, 1, 1, 3)).astype(np.float32)
    pen = rng.uniform(*PEN, (count, 1, 1, 3)).astype(np.float32)
    painted = strokes * (pen - paper)
    painted += paper
    offset = rng.integers(0, noise.size - painted.size + 1)
    painted += noise[offset : offset + painted.size].reshape(painted.shape)
    pixels: Array = np.clip(painted, 0, 255, out=painted).astype(np.uint8)
    return pixels


def _shifted(windows: Array, chosen: Array, rng: np.random.Generator) -> Images:
    down, right = rng.integers(0, 2 * SHIFT + 1, (2, len(chosen)))
    shifted: Images = windows[chosen, down, right]
    return shifted


def _glyphs(digits: Images, rng: np.random.Generator) -> Images:
    """VARIANTS versions of each digit, one after the other: (n * VARIANTS, 38, 38) in [0, 1]."""
    count = len(digits) * VARIANTS
    canvas = SIDE + 2 * SHIFT
    turn = np.deg2rad(rng.uniform(-TURN_DEGREES, TURN_DEGREES, count)).astype(np.float32)
    per_pixel = digits.shape[1] / rng.uniform(*DIGIT_SIDE, count).astype(np.float32)
    cos = (np.cos(turn) * per_pixel)[:, None, None]
    sin = (np.sin(turn) * per_pixel)[:, None, None]
    grid = np.arange(canvas, dtype=np.float32) - (canvas - 1) / 2
    y, x = grid[:, None], grid[None, :]
    centre = (digits.shape[1] - 1) / 2
    source = np.repeat(np.arange(len(digits)), VARIANTS)[:, None, None]
    return _sampled(digits, source, cos * y - sin * x + centre, sin * y + cos * x + centre)


def _sampled(digits: Images, source: Array, row: Images, column: Images) -> Images:
    """Bilinear samples of digits[source] at fractional positions; blank outside the digit."""
    padded = np.pad(digits, ((0, 0), (1, 2), (1, 2)))
    last = digits.shape[1]
    row, column = (np.clip(position, -1, last) + 1 for position in (row, column))
    top, left = row.astype(np.intp), column.astype(np.intp)
    down, right = row - top, column - left
    upper = padded[source, top, left] * (1 - right) + padded[source, top, left + 1] * right
    lower = padded[source, top + 1, left] * (1 - right) + padded[source, top + 1, left + 1] * right
    sampled: Images = (upper * (1 - down) + lower * down).astype(np.float32)
    return sampled
