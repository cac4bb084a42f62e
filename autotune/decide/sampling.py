"""How far the mean accuracy difference may be off because the validation part is a sample.

Let d_si be 1 where only the candidate of seed s has example i right, -1 where only its baseline has, else 0. The mean
difference over S seeds and n examples is the mean over examples of D_i, where D_i is the mean over seeds of d_si. With
random effects of seeds and examples in a crossed two-way table (Searle, Casella and McCulloch, Variance Components,
1992)

    d_si = mean + seed_s + example_i + rest_si        var(mean) = var_seed / S + var_example / n + var_rest / (S n)

a t interval over seeds holds the first and the last term. It never holds the second: every seed is judged on the same
examples, so one on which the two models differ for a reason counts alike in all of them, and further seeds do not
average it away. Taking the S n answers as independent would divide it by S. Another validation part of n examples would
move the mean of the models as they are trained by

    standard error = sd(D_i) / sqrt(n)        whose square expects var_example / n + var_rest / (S n)

which is what is told here: the missing term, and a share that the t interval has as well, so that the root of the sum
of both squares errs on the side of more. For one seed it is the standard error of McNemar's difference of paired
proportions. Assumed: examples drawn independently of one another.

The vectors of right and wrong are those of `TrainingRun.right`, taken as integers of n bits, so no array library is
needed.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Sequence


def disagreements(candidate_right: str, baseline_right: str, examples: int) -> tuple[int, int]:
    """How many examples only the candidate has right, and only the baseline.

    Args:
        candidate_right: `TrainingRun.right`.
        baseline_right: of the same examples.
        examples: how many these are.

    Raises:
        ValueError: one of them is not of so many examples.
    """
    only_candidate, only_baseline = _apart(candidate_right, baseline_right, examples)
    return only_candidate.bit_count(), only_baseline.bit_count()


def sampling_error(candidate: Sequence[str], baseline: Sequence[str], examples: int) -> float:
    """Standard error of the mean accuracy difference that comes from the examples; 0.01 is one percentage point.

    Args:
        candidate: `TrainingRun.right` of each seed.
        baseline: of the same seeds in the same order.
        examples: of the validation part, at least two.

    Raises:
        ValueError: there is no seed, not both of each, fewer than two examples, or not so many in each.
    """
    if not candidate or examples < 2:
        raise ValueError(f"a sampling error needs a seed and two examples, but got {len(candidate)} and {examples}")
    pairs = [_apart(one, other, examples) for one, other in zip(candidate, baseline, strict=True)]
    total = sum(gained.bit_count() - lost.bit_count() for gained, lost in pairs)
    # The sum over examples of (the sum over seeds)**2, as the sum over pairs of seeds of their products.
    squares = sum(
        (gained & other_gained).bit_count()
        + (lost & other_lost).bit_count()
        - (gained & other_lost).bit_count()
        - (lost & other_gained).bit_count()
        for gained, lost in pairs
        for other_gained, other_lost in pairs
    )
    seeds = len(pairs)
    variance = (squares - total**2 / examples) / seeds**2 / (examples - 1)
    return math.sqrt(max(0.0, variance) / examples)


def _apart(candidate: str, baseline: str, examples: int) -> tuple[int, int]:
    """Examples that only one of the two has right, as sets of bits."""
    one, other = _bits(candidate, examples), _bits(baseline, examples)
    return one & ~other, other & ~one


def _bits(right: str, examples: int) -> int:
    try:
        packed = base64.b64decode(right, validate=True)
    except binascii.Error as error:
        raise ValueError(f"bits are packed in base64, but got {right[:20]!r}: {error}") from error
    if len(packed) != -(-examples // 8):
        raise ValueError(f"{examples} examples are packed in {-(-examples // 8)} bytes, but got {len(packed)}")
    return int.from_bytes(packed) >> (-examples % 8)  # the last byte is padded at its low end
