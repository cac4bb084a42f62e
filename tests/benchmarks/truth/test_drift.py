"""What a machine that drifts does to a ratio: another process takes half of the cores halfway through. Real timings.

The candidate is the baseline itself, so that nothing but the machine can move their ratio. Blocks that alternate lose
a core together; a tuner that times one after the other calls the loss of a core a property of the candidate.

Alone, about 6 minutes on two cores: `python -m pytest tests/benchmarks/truth/test_drift.py -m truth -s`
TRUTH_REPETITIONS=2 shrinks it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.figures import cpu, print_table, with_bounds
from tests.benchmarks.truth import drift
from tests.benchmarks.truth.counts import Count
from tests.benchmarks.truth.sizes import size

pytestmark = [pytest.mark.truth, pytest.mark.timeout(3600)]

REPETITIONS = max(2, size("TRUTH_REPETITIONS", 8))

# Factors: the ratio of alternating blocks is not shown to move by more than the one, a sequential one by at least the
# other.
STAYS, MOVES = 1.02, 1.1


def test_an_interleaved_ratio_does_not_drift_with_the_machine(tmp_path: Path) -> None:
    found = list(drift.repeat(drift.config(), tmp_path, REPETITIONS))
    rows = [
        (
            str(number),
            with_bounds(one.disturbed),
            with_bounds(one.quiet),
            "yes" if one.stays else "no",
            f"{one.naive_disturbed:.3g}",
            f"{one.naive:.3g}",
            f"{one.slowdown:.2f}",
        )
        for number, one in enumerate(found, start=1)
    ]
    head = (
        "repetition",
        "disturbed [95 %]",
        "undisturbed [95 %]",
        "within",
        "naive",
        "naive, undisturbed",
        "slower by",
    )
    print_table("Drift: a ratio that is 1, while half of the cores are taken", head, rows, cpu())
    stays = Count.over(one.stays for one in found)
    interleaved = drift.shift([one.quiet.estimate for one in found], [one.disturbed.estimate for one in found])
    naive = drift.shift([one.naive for one in found], [one.naive_disturbed for one in found])
    print(
        f"within the undisturbed interval: {stays}; moves by {with_bounds(interleaved)}, a naive ratio by"
        f" {with_bounds(naive)}"
    )
    assert interleaved.low < STAYS
    assert interleaved.high > 1 / STAYS
    assert naive.high < 1 / MOVES, "the naive ratio was to fall, as the second measurement had fewer cores"
