"""A/A: how often would the product call the baseline faster than itself? Real timings, its own worker and judgement.

Two hundred studies in miniature, each of which screens two candidates and confirms the faster one in three other
processes; all candidates are the baseline. As in a real one, only what screening puts above 1.02 is confirmed. The
table also has the confirmation alone, and a naive tuner's answer on the very same blocks.

A t interval over three processes lies wholly above the truth in 2.5 % of cases, however noisy they are. That it must
lie above 1.02 makes that less the closer processes agree: of normal ones that spread by 2 %, 0.07 %; by 5 %, 0.75 %
(two million draws each).

Comparisons of one process share its memory layout and its minute, so they are independent given the process and not
altogether; the interval of a count takes them as independent.

Alone, about 20 minutes on two cores: `python -m pytest tests/benchmarks/truth/test_aa.py -m truth -s`
TRUTH_STUDIES=16 TRUTH_PROCESSES=4 shrink it. TRUTH_RECORD=1 also writes the noise that the tests replay.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autotune.trial import Interval
from tests.benchmarks.figures import cpu, print_table, with_bounds
from tests.benchmarks.truth import aa, recorded
from tests.benchmarks.truth.miniature import CONFIRMING, Process, between_processes, first_pair, once_each
from tests.benchmarks.truth.sizes import size

pytestmark = [pytest.mark.truth, pytest.mark.timeout(3600)]

STUDIES = size("TRUTH_STUDIES", 200)
PROCESSES = max(CONFIRMING + 1, size("TRUTH_PROCESSES", 15))
# With a load beside it, for comparison and for the recorded noise.
LOADED_STUDIES = -(-STUDIES // 5)
LOADED_PROCESSES = max(CONFIRMING + 1, PROCESSES // 2)

MOST_FALSE = 0.01
# What a first pair may be off by, as a factor.
WARM = 1.01


def test_a_baseline_is_not_found_faster_than_itself(tmp_path: Path) -> None:
    config = aa.config()
    measured: list[Process] = []
    rows, false = [], {}
    firsts: dict[bool, Interval] = {}
    for loaded, studies, processes in ((False, STUDIES, PROCESSES), (True, LOADED_STUDIES, LOADED_PROCESSES)):
        found, versions = aa.measure(
            config, tmp_path, processes=processes, rows=-(-studies // processes), loaded=loaded
        )
        measured += found
        claims = aa.claims(once_each(found), found)
        false[loaded] = claims[aa.A_STUDY]
        beside = "random bursts" if loaded else "none"
        rows += [(who, str(count), str(count.hits), str(count.of), beside) for who, count in claims.items()]
        mean, spread = between_processes(found)
        first = firsts[loaded] = first_pair(found)
        print(
            f"\nload {beside}: speedup {with_bounds(mean)} over {len(found)} processes, which spread by {spread:.2f} %;"
            f" by first pairs alone {with_bounds(first)}"
        )
    head = ("who says that the baseline is faster than itself", "share [95 %]", "false", "studies", "load beside")
    print_table("A/A: false FASTER", head, rows, cpu())
    if os.environ.get("TRUTH_RECORD"):
        setting = f"digits_mlp 64-64, batch {config.train.batch_size}, blocks of {config.search.timing.block_s} s"
        print(f"recorded: {recorded.write(measured, setting, versions)}")
    assert false[False].share <= MOST_FALSE, str(false[False])
    assert false[True].bounds[0] <= MOST_FALSE, f"under load: {false[True]}"
    assert firsts[False].low < WARM, f"the baseline's first block is slow: {with_bounds(firsts[False])}"
    assert firsts[False].high > 1 / WARM, f"a candidate's first block is slow: {with_bounds(firsts[False])}"
