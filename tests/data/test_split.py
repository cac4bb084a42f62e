from __future__ import annotations

import numpy as np
import pytest

from autotune.data.split import held_out, remaining, validation_size


@pytest.mark.parametrize(
    ("examples", "wanted", "size"),
    [(50_000, 5000, 5000), (1438, 5000, 287), (10, 5000, 2), (12, 1, 1)],
)
def test_at_most_a_fifth_is_held_out(examples: int, wanted: int, size: int) -> None:
    assert validation_size(examples, wanted) == size


def test_the_split_keeps_the_proportions_of_the_classes() -> None:
    y = np.repeat([0, 1, 2], [600, 300, 100])
    held = held_out(np.random.default_rng(0).permutation(y), 100, seed=0, stratify=True)
    assert len(held) == 100
    shuffled = np.random.default_rng(0).permutation(y)
    assert np.bincount(shuffled[held]).tolist() == [60, 30, 10]


@pytest.mark.parametrize("stratify", [True, False])
def test_the_split_is_whole_disjoint_and_of_its_seed(stratify: bool) -> None:
    y = np.arange(1000) % 7
    held = held_out(y, 137, seed=3, stratify=stratify)
    kept = remaining(1000, held)
    assert len(held) == 137
    assert sorted([*held, *kept]) == list(range(1000))
    np.testing.assert_array_equal(held, held_out(y, 137, seed=3, stratify=stratify))
    assert not np.array_equal(held, held_out(y, 137, seed=4, stratify=stratify))


def test_no_class_loses_its_last_example() -> None:
    y = np.array([0] * 50 + [1] + [2, 2])
    for seed in range(20):
        held = held_out(y, 10, seed=seed, stratify=True)
        assert len(held) == 10
        assert set(y[remaining(len(y), held)].tolist()) == {0, 1, 2}


def test_hardly_more_examples_than_classes() -> None:
    held = held_out(np.arange(10), 2, seed=0, stratify=True)
    assert len(held) == 0
