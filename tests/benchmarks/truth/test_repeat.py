"""Do ten studies of one model, with different seeds, name winners that are equally good?

Ten whole studies of `cifar_mlp` on real CIFAR-10, as `python -m autotune model=cifar_mlp tracking=off` runs them, of
one given recipe. Then all winners are timed in one run: every round is a fresh process in which the blocks of each
alternate with the baseline's. At least nine of ten are to lie within 3 % of the best. Winners with other names may be
as good.

Each study takes about five minutes on two cores, all of it an hour:
`python -m pytest tests/benchmarks/truth/test_repeat.py -m truth -s`. What has been measured is kept in TRUTH_STORE
(`outputs/truth`), and a later run goes on from there. TRUTH_REPEATED=2 TRUTH_ROUNDS=2 shrink it, and TRUTH_OVERRIDES
are appended to the overrides of every study.
"""

from __future__ import annotations

import pytest

from autotune.data import load
from autotune.errors import DataError
from tests.benchmarks.figures import cpu, print_table, with_bounds
from tests.benchmarks.truth import repeat
from tests.benchmarks.truth.counts import Count
from tests.benchmarks.truth.sizes import size
from tests.benchmarks.truth.workers import REPOSITORY

pytestmark = [pytest.mark.truth, pytest.mark.timeout(6 * 3600)]

STUDIES = size("TRUTH_REPEATED", 10)
ROUNDS = max(2, size("TRUTH_ROUNDS", 5))

WITHIN = 0.03
ENOUGH = 0.9


def test_studies_with_other_seeds_name_winners_that_are_as_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    try:
        load(repeat.config().data)
    except DataError as error:
        pytest.skip(f"the data is not on this machine: {error}")
    folder = repeat.store()
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = [repeat.outcome(number, folder) for number in range(STUDIES)]
    winners = list(dict.fromkeys(outcome.candidate for outcome in outcomes if outcome.quoted is not None))
    together = repeat.timed_together(winners, folder, ROUNDS)
    # A study that found nothing names the baseline, which is as fast as itself.
    speedups = [together[outcome.candidate].estimate if outcome.quoted else 1.0 for outcome in outcomes]
    best = max(speedups)
    near = Count.over(speedup >= best * (1 - WITHIN) for speedup in speedups)
    rows = [
        (
            str(outcome.seed),
            with_bounds(together[outcome.candidate]) if outcome.quoted else "1",
            f"{100 * (speedup / best - 1):+.1f} %",
            with_bounds(outcome.quoted) if outcome.quoted else "none",
            str(outcome.candidate),
        )
        for outcome, speedup in zip(outcomes, speedups, strict=True)
    ]
    head = ("study", "together [95 %]", "of the best", "quoted [95 %]", "winner")
    print_table(f"Repeatability: {STUDIES} studies, winners timed together in {ROUNDS} processes", head, rows, cpu())
    print(f"within {WITHIN:.0%} of the best: {near.hits} of {near.of}; overrides: {' '.join(repeat.overrides())}")
    if STUDIES >= 10:
        assert near.share >= ENOUGH
