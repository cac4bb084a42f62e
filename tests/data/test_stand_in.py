from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from autotune.data import digits, stand_in
from autotune.data.digit_images import fixed_split, originals, resized
from autotune.errors import DataError


def test_the_stand_in_has_the_shape_of_cifar10_and_says_what_it_is() -> None:
    loaded = stand_in.load(seed=0, train_examples=300, test_examples=70, reason="no network")
    assert loaded.train[0].shape == (300, 32, 32, 3)
    assert loaded.test[0].shape == (70, 32, 32, 3)
    assert loaded.train[0].dtype == loaded.test[0].dtype == np.uint8
    assert loaded.stand_in is not None
    assert "NOT CIFAR-10" in loaded.stand_in
    assert loaded.stand_in.endswith("no network")
    assert set(loaded.train[1].tolist()) == set(range(10))


def test_the_stand_in_is_one_dataset_whatever_the_seed() -> None:
    first, second = (stand_in.load(seed=seed, train_examples=100, test_examples=30) for seed in (0, 1))
    np.testing.assert_array_equal(first.train[0], second.train[0])
    np.testing.assert_array_equal(first.test[1], second.test[1])


def test_no_two_examples_of_the_stand_in_are_alike() -> None:
    loaded = stand_in.load(seed=0, train_examples=6000, test_examples=1500)
    rows = [row.tobytes() for row in (*loaded.train[0], *loaded.test[0])]
    assert len(set(rows)) == 7500
    assert np.bincount(loaded.train[1]).min() > 400


def test_the_stand_in_can_be_learnt_but_not_at_once() -> None:
    """Nearest class mean: far above chance, far below what would hide a loss of accuracy."""
    loaded = stand_in.load(seed=0, train_examples=4000, test_examples=1000)
    (x_train, y_train), (x_test, y_test) = loaded.train, loaded.test
    train, test = (x.mean(axis=3).reshape(len(x), -1) for x in (x_train, x_test))
    train, test = (x - x.mean(axis=1, keepdims=True) for x in (train, test))
    means = np.stack([train[y_train == label].mean(axis=0) for label in range(10)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    accuracy = float((np.argmax(test @ means.T, axis=1) == y_test).mean())
    assert 0.25 < accuracy < 0.9


@pytest.mark.parametrize("counts", [(0, 5), (5, 0)])
def test_the_stand_in_needs_examples(counts: tuple[int, int]) -> None:
    with pytest.raises(DataError, match="1 or more"):
        stand_in.load(seed=0, train_examples=counts[0], test_examples=counts[1])


def test_the_originals_are_what_scikit_learn_loads() -> None:
    pixels, labels = load_digits(return_X_y=True)
    images, ours = originals()
    np.testing.assert_array_equal(images.reshape(len(images), -1) * 16, pixels)
    np.testing.assert_array_equal(ours, labels)
    assert ours.dtype == labels.dtype  # or the data would have another fingerprint


def test_the_originals_are_read_without_importing_scikit_learn() -> None:
    code = "import sys; from autotune.data.digits import load; load(seed=0); assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_version_that_keeps_the_file_elsewhere_is_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = originals()
    monkeypatch.setattr(Path, "is_file", lambda _: False)
    asked_images, asked_labels = originals()
    np.testing.assert_array_equal(asked_images, images)
    np.testing.assert_array_equal(asked_labels, labels)


def test_the_split_of_the_digits_is_disjoint_whole_and_stratified() -> None:
    _, labels = originals()
    train, test = fixed_split(labels)
    assert sorted([*train, *test]) == list(range(1797))
    assert len(test) == 359
    shares = np.bincount(labels[test]) / np.bincount(labels)
    assert np.abs(shares - 0.2).max() < 0.01


def test_digits_have_784_values() -> None:
    loaded = digits.load(seed=0)
    assert loaded.train[0].shape == (1438, 28, 28, 1)
    assert loaded.test[0].shape == (359, 28, 28, 1)
    assert loaded.train[0].dtype == np.uint8
    assert loaded.train[0].max() == 255


def test_digits_of_side_8_are_the_originals() -> None:
    images, labels = originals()
    train, _ = fixed_split(labels)
    loaded = digits.load(seed=0, side=8)
    got = np.round(loaded.train[0][..., 0].astype(float) * 16 / 255)
    np.testing.assert_array_equal(got, images[train] * 16)


@pytest.mark.parametrize("side", [7, 257, 28.0, True, "28"])
def test_a_side_that_is_none(side: object) -> None:
    with pytest.raises(DataError, match=r"data\.args\.side"):
        digits.load(seed=0, side=side)  # type: ignore[arg-type]


def test_resizing_interpolates_between_the_centres_of_pixels() -> None:
    image = np.array([[[0.0, 1.0], [0.0, 1.0]]], np.float32)
    np.testing.assert_allclose(resized(image, 4)[0, 0], [0, 0.25, 0.75, 1])
