"""Metrics, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from autotune.worker.metrics import accuracy, correct, cross_entropy, error_rate, mean_absolute_error

LABELS = np.array([0, 2, 1, 1])
SCORES = np.array([[0.9, 0.0, 0.1], [0.3, 0.3, 0.4], [0.5, 0.2, 0.3], [0.1, 0.8, 0.1]], "float32")


def test_accuracy_is_the_share_of_largest_outputs() -> None:
    assert correct(LABELS, SCORES).tolist() == [True, True, False, True]
    assert accuracy(LABELS, SCORES) == 0.75


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_output_that_is_not_finite_is_wrong_even_where_the_largest_one_fits(value: float) -> None:
    scores = SCORES.copy()
    scores[0, 1 if value != np.inf else 0] = value
    assert correct(LABELS, scores).tolist() == [False, True, False, True]


def test_nothing_but_nan_is_zero_and_not_chance() -> None:
    assert accuracy(np.zeros(5, "int32"), np.full((5, 3), np.nan, "float32")) == 0.0


@pytest.mark.parametrize("shape", [(4,), (3, 3), (4, 3, 1), (4, 1)])
def test_accuracy_refuses_outputs_that_are_no_scores_of_classes(shape: tuple[int, ...]) -> None:
    """A single column has its largest output always at 0: any two models would be equally accurate."""
    with pytest.raises(ValueError, match=r"needs outputs of shape \(4, classes\).*but got"):
        accuracy(LABELS, np.zeros(shape, "float32"))


def test_error_is_what_accuracy_leaves() -> None:
    assert error_rate(LABELS, SCORES) == 0.25
    assert error_rate(LABELS, np.full((4, 3), np.nan, "float32")) == 1.0
    with pytest.raises(ValueError, match="two classes"):
        error_rate(LABELS, np.zeros((4, 1)))


LABELS_2 = np.array([0, 1])


def test_cross_entropy_by_hand() -> None:
    probabilities = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]], "float32")
    expected = -(np.log(0.5) + np.log(0.8)) / 2
    assert cross_entropy(LABELS_2, probabilities) == pytest.approx(expected, rel=1e-7)
    assert cross_entropy(LABELS_2, np.log(probabilities) + 5, from_logits=True) == pytest.approx(expected, rel=1e-6)
    assert cross_entropy(LABELS_2, probabilities * np.float32(0.99)) == pytest.approx(expected, rel=1e-6)


def test_cross_entropy_of_certainty_is_finite() -> None:
    wrong = np.array([[0, 1, 0], [0, 0, 1]], "float32")
    assert cross_entropy(LABELS_2, wrong) == pytest.approx(-np.log(1e-7))
    assert cross_entropy(LABELS_2, np.eye(3, dtype="float32")[:2]) == 0
    assert cross_entropy(LABELS_2, np.zeros((2, 3), "float32")) == pytest.approx(-np.log(1e-7))
    logits = np.array([[-3e38, 3e38], [0, -3e38]], "float32")
    assert cross_entropy(LABELS_2, logits, from_logits=True) == pytest.approx(4.5e38)
    assert cross_entropy(LABELS_2, -logits, from_logits=True) == 0


def test_cross_entropy_sums_in_float64() -> None:
    """A mean in float32 over so many examples is off in the fourth digit."""
    n = 4_000_000
    assert cross_entropy(np.zeros(n, int), np.full((n, 2), 0.5, "float16")) == pytest.approx(np.log(2), rel=1e-12)


@pytest.mark.parametrize("outputs", [[[-0.1, 1.0], [0.5, 0.5]], [[0.5, 0.5], [3.0, 0.0]]])
def test_logits_are_no_probabilities(outputs: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"set constraint\.args\.from_logits=true"):
        cross_entropy(LABELS_2, np.array(outputs, "float32"))


@pytest.mark.parametrize("shape", [(4,), (3, 3), (4, 1)])
def test_cross_entropy_refuses_outputs_that_are_no_scores_of_classes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"needs outputs of shape \(4, classes\)"):
        cross_entropy(LABELS, np.zeros(shape, "float32"))


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_mean_absolute_error(shape: tuple[int, ...]) -> None:
    predicted = np.array([1.5, 2.0, -1.0], "float32").reshape(shape)
    assert mean_absolute_error(np.array([1.0, 4.0, 2.0], "float32"), predicted) == pytest.approx(5.5 / 3, abs=1e-15)


def test_mean_absolute_error_does_not_overflow_in_float16() -> None:
    target = np.zeros(4000, "float16")
    assert mean_absolute_error(target, np.full(4000, 60000, "float16")) == 60000 - 60000 % 32


def test_mean_absolute_error_of_nan_is_nan() -> None:
    assert np.isnan(mean_absolute_error(np.zeros(2), np.array([0.0, np.nan])))


def test_mean_absolute_error_is_of_one_output() -> None:
    with pytest.raises(ValueError, match="reshape"):
        mean_absolute_error(np.zeros(3), np.zeros((3, 2)))
