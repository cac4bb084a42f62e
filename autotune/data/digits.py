"""Handwritten digits that come with scikit-learn: there without a network, small, quick.

The originals are 8x8. They are enlarged to 28x28 by default, so that one image has the 784 values
that the guide's digits MLP (784-4096-4096-10) takes.
"""

from __future__ import annotations

import numpy as np

from autotune.data.dataset import LoadedData
from autotune.data.digit_images import CLASSES, SIDE, fixed_split, originals, resized
from autotune.errors import DataError

LARGEST_SIDE = 256


def load(*, seed: int, side: int = 28) -> LoadedData:
    """uint8 (n, side, side, 1): 1,438 training and 359 test digits, the same for every seed.

    Args:
        seed: part of the contract; nothing here is random.
        side: height and width, pixels; 8 leaves the originals as they are.

    Raises:
        DataError: a side out of range.
    """
    del seed
    if type(side) is not int or not SIDE <= side <= LARGEST_SIDE:
        raise DataError(f"data.args.side must be a whole number from {SIDE} to {LARGEST_SIDE}, but got {side}.")
    images, y = originals()
    x = np.round(resized(images, side) * 255).astype(np.uint8)[..., None]
    train, test = fixed_split(y)
    return LoadedData(
        train=(x[train], y[train]),
        test=(x[test], y[test]),
        origin="scikit-learn's bundled digits",
        num_classes=CLASSES,
    )
