"""Takes a part out of a training set: seeded, and stratified where the targets are classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from autotune.data.dataset import Array

LARGEST_SHARE = 0.2
"""The validation part is never more than this share of what it is taken from."""

Indices = npt.NDArray[np.intp]


def validation_size(examples: int, wanted: int) -> int:
    """How many of `examples` to hold out when `wanted` are asked for; at least 1."""
    return max(1, min(wanted, int(examples * LARGEST_SHARE)))


def held_out(y: Array, size: int, seed: int, stratify: bool) -> Indices:
    """Sorted indices of `size` examples to hold out.

    Stratified, every class gives its share, rounded by the largest remainder, but never its
    last example; so fewer than `size` come back if there are hardly more examples than classes.

    Args:
        y: (n,) targets.
        size: how many to hold out, below n.
        seed: the same seed gives the same indices.
        stratify: keep the proportions of the classes.
    """
    rng = np.random.default_rng(seed)
    if not stratify:
        return np.sort(rng.permutation(len(y))[:size])
    classes, counts = np.unique(y, return_counts=True)
    quotas = _quotas(counts, size)
    chosen = [rng.permutation(np.flatnonzero(y == label))[:quota] for label, quota in zip(classes, quotas, strict=True)]
    return np.sort(np.concatenate(chosen))


def remaining(examples: int, held: Indices) -> Indices:
    """Sorted indices below `examples` that are not in `held`."""
    keep = np.ones(examples, dtype=bool)
    keep[held] = False
    return np.flatnonzero(keep)


def _quotas(counts: Array, size: int) -> Indices:
    exact = counts * (size / counts.sum())
    quotas: Indices = np.minimum(np.floor(exact).astype(np.intp), counts - 1)
    by_remainder = np.argsort(-(exact - quotas), kind="stable")
    for index in by_remainder:
        if quotas.sum() == size:
            break
        if quotas[index] < counts[index] - 1:
            quotas[index] += 1
    return quotas
