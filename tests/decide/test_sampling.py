"""The sampling error of a mean accuracy difference: by hand, and against many validation parts drawn by a generator."""

from __future__ import annotations

import base64
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from autotune.decide.sampling import disagreements, sampling_error


def packed(right: Any) -> str:
    return base64.b64encode(np.packbits(np.asarray(right, dtype=bool)).tobytes()).decode()


CANDIDATE = [1, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1]
BASELINE = [1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1]


def test_disagreements_by_hand() -> None:
    assert disagreements(packed(CANDIDATE), packed(BASELINE), 11) == (3, 3)
    assert disagreements(packed(CANDIDATE), packed([0] * 11), 11) == (7, 0)
    assert disagreements(packed(CANDIDATE), packed(CANDIDATE), 11) == (0, 0)


@pytest.mark.parametrize("examples", [7, 8, 9, 1000, 1003])
def test_every_example_counts_and_no_padding(examples: int) -> None:
    one, other = (np.random.default_rng(seed).random(examples) < 0.5 for seed in (0, 1))
    expected = int(np.sum(one & ~other)), int(np.sum(other & ~one))
    assert disagreements(packed(one), packed(other), examples) == expected
    assert disagreements(packed([0] * examples), packed([1] * examples), examples) == (0, examples)


def test_the_workers_bits_are_the_ones_that_are_read() -> None:
    from autotune.worker.metrics import packed_right

    outputs = np.eye(3, dtype="float32")[[0, 1, 2, 0]]
    right = packed_right(np.array([0, 1, 1, 1]), outputs)
    assert right is not None
    assert disagreements(right, packed([0, 0, 0, 0]), 4) == (2, 0)
    assert packed_right(np.zeros(4), np.zeros((4, 1))) is None
    assert packed_right(np.zeros(4), np.zeros((4, 2, 2))) is None


def test_one_seed_is_mcnemars_standard_error() -> None:
    n, b, c = 11, 3, 3
    expected = math.sqrt((b + c - (b - c) ** 2 / n) / (n - 1) / n)
    assert sampling_error([packed(CANDIDATE)], [packed(BASELINE)], n) == pytest.approx(expected, rel=1e-12)


def test_it_is_the_spread_of_each_examples_mean_over_seeds() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.random((5, 203)) < 0.8, rng.random((5, 203)) < 0.7
    means = (one.astype(int) - other.astype(int)).mean(axis=0)
    found = sampling_error([packed(row) for row in one], [packed(row) for row in other], 203)
    assert found == pytest.approx(means.std(ddof=1) / math.sqrt(203), rel=1e-12)


def test_models_that_never_differ_have_none() -> None:
    assert sampling_error([packed(CANDIDATE)] * 3, [packed(CANDIDATE)] * 3, 11) == 0


def test_more_seeds_of_the_same_answers_tell_nothing_new() -> None:
    once = sampling_error([packed(CANDIDATE)], [packed(BASELINE)], 11)
    assert sampling_error([packed(CANDIDATE)] * 4, [packed(BASELINE)] * 4, 11) == pytest.approx(once)


SEEDS, EXAMPLES, KINDS = 5, 500, 40
RNG = np.random.default_rng(7)
DIFFICULTY = RNG.random(KINDS)  # shared by all models: some kinds of example are hard
LEAN = RNG.normal(0, 0.35, KINDS)  # where the candidate is better or worse, for a reason


def models(rng: np.random.Generator) -> Any:
    """Chances of being right on each kind of example, of a candidate and a baseline on each seed."""
    own = rng.normal(0, 0.1, (2, SEEDS, KINDS)) + rng.normal(0, 0.01, (2, SEEDS, 1))
    return np.clip(np.stack([DIFFICULTY + LEAN, DIFFICULTY])[:, None, :] + own, 0, 1)


def study(rng: np.random.Generator, chance: Any) -> tuple[Any, float]:
    """Differences (seeds, examples) on a validation part of its own, and the sampling error told."""
    one, other = rng.random((2, SEEDS, EXAMPLES)) < chance[:, :, rng.integers(0, KINDS, EXAMPLES)]
    told = sampling_error([packed(row) for row in one], [packed(row) for row in other], EXAMPLES)
    return one.astype(int) - other.astype(int), told


def test_it_is_how_much_the_mean_moves_from_one_validation_part_to_the_next() -> None:
    rng = np.random.default_rng(1)
    chance = models(rng)
    studies = [study(rng, chance) for _ in range(1500)]
    truth = np.var([differences.mean() for differences, _ in studies])  # known to 4 %
    assert np.mean([told**2 for _, told in studies]) == pytest.approx(truth, rel=0.12)
    as_if_independent = np.mean([differences.var() / differences.size for differences, _ in studies])
    assert as_if_independent < 0.75 * truth


def test_beside_the_spread_over_seeds_it_covers_all_of_the_error_and_some() -> None:
    """Models and validation part are both new in each study; its t interval knows the models' part alone."""
    rng = np.random.default_rng(2)
    studies = [study(rng, models(rng)) for _ in range(1500)]
    truth = np.var([differences.mean() for differences, _ in studies])
    over_seeds = np.mean([differences.mean(axis=1).var(ddof=1) / SEEDS for differences, _ in studies])
    both = over_seeds + np.mean([told**2 for _, told in studies])
    assert over_seeds < 0.8 * truth
    assert truth < both < 1.6 * truth


@pytest.mark.parametrize(
    ("candidate", "baseline", "examples", "words"),
    [
        ([], [], 11, "needs a seed and two examples, but got 0 and 11"),
        ([packed([1])], [packed([1])], 1, "but got 1 and 1"),
        ([packed(CANDIDATE)], [], 11, "shorter"),
        ([packed(CANDIDATE)], [packed(BASELINE)], 17, "17 examples are packed in 3 bytes, but got 2"),
        (["?"], [packed(BASELINE)], 11, "packed in base64, but got '?'"),
    ],
)
def test_what_does_not_fit_is_refused(candidate: list[str], baseline: list[str], examples: int, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        sampling_error(candidate, baseline, examples)


def test_it_needs_no_array_library() -> None:
    code = "import sys, autotune.decide.sampling, autotune.decide.learning; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
