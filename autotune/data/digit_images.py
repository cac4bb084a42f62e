"""scikit-learn's bundled handwritten digits, and how they are enlarged.

1,797 grey images of 8x8, values 0 to 16, 10 classes; they come with the package, so they are
there without a network. Source: sklearn.datasets.load_digits.
"""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import numpy as np
import numpy.typing as npt

from autotune.data.dataset import Array
from autotune.data.split import held_out, remaining

SIDE = 8
LARGEST_VALUE = 16
TEST_SHARE = 0.2
CLASSES = 10

Images = npt.NDArray[np.float32]


def originals() -> tuple[Images, Array]:
    """All digits, float32 (1797, 8, 8) in [0, 1], and their labels (1797,)."""
    table = _table()
    images = table[:, :-1].reshape(-1, SIDE, SIDE)
    return (images / LARGEST_VALUE).astype(np.float32), table[:, -1].astype(int)


def _table() -> npt.NDArray[np.float64]:
    """One row a digit: the values of its 64 pixels, and its label.

    Read from the package's file without importing the package, which takes two seconds in every worker.
    """
    package = importlib.util.find_spec("sklearn")
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder) / "datasets" / "data" / "digits.csv.gz"
        if path.is_file():
            with gzip.open(path, "rt", encoding="ascii") as stream:
                return np.loadtxt(stream, delimiter=",")
    from sklearn.datasets import load_digits  # a version that keeps the file elsewhere knows where

    pixels, labels = load_digits(return_X_y=True)
    return np.column_stack([pixels, labels])


def fixed_split(y: Array) -> tuple[Array, Array]:
    """Indices of the training and of the test digits: always the same, stratified by class.

    The seed of an experiment does not move it, or runs would be tested on each other's
    training digits.
    """
    test = held_out(y, round(len(y) * TEST_SHARE), seed=0, stratify=True)
    return remaining(len(y), test), test


def resized(images: Images, side: int) -> Images:
    """`images` (n, h, h) enlarged to (n, side, side), bilinear, pixel centres aligned."""
    weights = _interpolation(images.shape[1], side)
    larger: Images = np.einsum("ai,nij,bj->nab", weights, images, weights, optimize=True)
    return larger


def _interpolation(old: int, new: int) -> Images:
    """(new, old) matrix that interpolates linearly between the centres of pixels."""
    position = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    weights: Images = np.maximum(0, 1 - np.abs(position[:, None] - np.arange(old)), dtype=np.float32)
    return weights
