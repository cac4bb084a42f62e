"""The order of examples is the seed's alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autotune.data import Part

pytestmark = pytest.mark.slow

COUNT = 50
PART = Part(np.arange(COUNT * 2, dtype="float32").reshape(COUNT, 2), np.arange(COUNT, dtype="int32"))


def epochs(number: int = 1, *, examples: int = COUNT, batch_size: int = 10, seed: int = 0, split_seed: int = 0) -> Any:
    """Labels, which are rows of the part, in the order of each epoch; one array a batch."""
    import keras

    from autotune.worker.child.feed import Feed

    keras.utils.set_random_seed(seed)  # as the builder does before every training
    batches = Feed(PART, split_seed).batches(examples=examples, batch_size=batch_size, seed=seed)
    return [[(x.numpy(), y.numpy()) for x, y in batches] for _ in range(number)]


def order(epoch: Any) -> list[int]:
    return [int(label) for _, labels in epoch for label in labels]


@pytest.mark.parametrize("batch_size", [1, 5, 25, 50])
def test_one_permutation_whatever_the_batch(batch_size: int) -> None:
    assert order(epochs(batch_size=batch_size)[0]) == order(epochs(batch_size=10)[0])


def test_every_example_once_an_epoch_each_with_its_own_target() -> None:
    (epoch,) = epochs()
    assert sorted(order(epoch)) == list(range(COUNT))
    for x, y in epoch:
        assert (x.dtype, y.dtype) == (np.float32, np.int32)
        np.testing.assert_array_equal(x, PART.x[y])


def test_another_order_each_epoch_and_each_seed_and_the_same_ones_again() -> None:
    first, second = epochs(2)
    assert order(first) != order(second)
    assert order(epochs(seed=1)[0]) != order(first)
    assert [order(epoch) for epoch in epochs(2)] == [order(first), order(second)]


def test_the_last_partial_batch_is_dropped() -> None:
    (epoch,) = epochs(batch_size=16)
    assert [len(labels) for _, labels in epoch] == [16, 16, 16]


def test_fewer_examples_are_the_same_ones_for_every_seed() -> None:
    chosen = {frozenset(order(epochs(examples=20, seed=seed)[0])) for seed in range(3)}
    assert len(chosen) == 1
    assert len(next(iter(chosen))) == 20
    assert frozenset(order(epochs(examples=20, split_seed=1)[0])) not in chosen
