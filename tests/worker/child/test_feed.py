"""The order of examples is the seed's alone."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from autotune.data import Part
from autotune.data.dataset import ALIGNMENT

pytestmark = pytest.mark.slow

COUNT = 50
PART = Part(np.arange(COUNT * 2, dtype="float32").reshape(COUNT, 2), np.arange(COUNT, dtype="int32"))


def epochs(
    number: int = 1, *, examples: int = COUNT, batch_size: int = 10, seed: int | None = 0, split_seed: int = 0
) -> Any:
    """Labels, which are rows of the part, in the order of each epoch; one array a batch."""
    import keras

    from autotune.worker.child.feed import Feed

    keras.utils.set_random_seed(seed or 0)  # as the builder does before every training
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


def test_without_a_seed_each_pass_has_the_same_examples_in_one_order() -> None:
    first, second = epochs(2, seed=None, examples=20)
    assert order(first) == order(second)
    assert set(order(first)) == set(order(epochs(examples=20)[0]))


def test_all_orders_are_about_as_likely() -> None:
    """Each of five places holds each of five examples in a fifth of a thousand passes; the same for pairs of places."""
    import keras

    from autotune.worker.child.feed import Feed

    keras.utils.set_random_seed(3)
    part = Part(np.zeros((5, 1), "float32"), np.arange(5, dtype="int32"))
    batches = Feed(part, 0).batches(examples=5, batch_size=5, seed=1)
    orders = np.array([labels.numpy() for _, labels in batches.repeat(1000)])
    assert orders.shape == (1000, 5)
    once = np.array([[np.mean(orders[:, place] == example) for place in range(5)] for example in range(5)])
    assert np.abs(once - 1 / 5).max() < 0.06  # 4.7 standard errors
    after = np.array([[np.mean((orders[:, :-1] == a) & (orders[:, 1:] == b)) for a in range(5)] for b in range(5)])
    assert np.abs(after[~np.eye(5, dtype=bool)] - 1 / 20).max() < 0.017


def test_an_order_is_drawn_for_micro_batches_as_for_whole_ones() -> None:
    import keras

    from autotune.worker.child.feed import Feed

    whole = order(epochs(batch_size=20)[0])
    keras.utils.set_random_seed(0)
    parts = list(Feed(PART, 0).batches(examples=COUNT, batch_size=20, seed=0, accumulation=4))
    assert [len(labels) for _, labels in parts] == [5] * 8
    assert [int(label) for _, labels in parts for label in labels] == whole


def placed(offset: int, *, writeable: bool = True) -> Part:
    """`PART` in memory that begins so many bytes after a multiple of the alignment."""
    memory = np.zeros(PART.x.nbytes + 2 * ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % ALIGNMENT + offset
    x = memory[begin : begin + PART.x.nbytes].view(np.float32).reshape(PART.x.shape)
    x[:] = PART.x
    x.flags.writeable = writeable
    return Part(x, PART.y)


def test_examples_are_fed_from_their_own_memory() -> None:
    """A data set of half the machine's memory would not fit twice."""
    from autotune.worker.child.feed import Feed

    part = placed(0)
    batches = Feed(part, 0).batches(examples=COUNT, batch_size=COUNT, seed=None)
    part.x[:] = 7
    (x,) = (x for x, _ in batches)
    assert (x.numpy() == 7).all()


@pytest.mark.parametrize("part", [placed(4), placed(0, writeable=False)], ids=["not aligned", "read-only"])
def test_memory_that_tensorflow_cannot_take_is_copied(part: Part) -> None:
    from autotune.worker.child.feed import Feed

    ((x, y),) = Feed(part, 0).batches(examples=COUNT, batch_size=COUNT, seed=None)
    np.testing.assert_array_equal(x.numpy(), PART.x[y.numpy()])


def test_the_memory_outlives_whoever_loaded_it() -> None:
    from autotune.worker.child.feed import Feed

    feed = Feed(placed(0), 0)  # nobody else holds the part
    gc.collect()
    ((x, y),) = feed.batches(examples=COUNT, batch_size=COUNT, seed=None)
    np.testing.assert_array_equal(x.numpy(), PART.x[y.numpy()])


def test_tf_data_tunes_nothing_while_it_is_iterated() -> None:
    """The end of an iterator waits for the thread that tunes it, for about as long as it has lived."""
    from autotune.worker.child.feed import Feed

    for seed in (0, None):
        batches = Feed(PART, 0).batches(examples=COUNT, batch_size=20, seed=seed)
        assert [one.options().autotune.enabled for one in (batches, batches.repeat())] == [False, False]
