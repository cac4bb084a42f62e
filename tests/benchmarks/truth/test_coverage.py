"""Do nominal 95 % intervals cover a true ratio 93 to 97 times of 100? Real timings, without and with a load beside.

The ratio is known because a candidate's step is 20, 21 or 22 steps of the same kind (`known.py` says how exact that
is). Every comparison builds both models anew, with the product's worker, its stopping rule and its intervals. A share
is judged by its own interval: it fails when the count shows that it is below 93 % or above 97 %.

Two intervals are judged. The one within a process speaks of this pair of models in this process; the one over three
fresh processes is the one that is quoted. It is shown for groups that use each measurement once and, more finely, for
groups that are drawn at random from the same measurements; of the latter no interval is given, since they overlap.

Alone, about 25 minutes on two cores: `python -m pytest tests/benchmarks/truth/test_coverage.py -m truth -s`
TRUTH_INTERVALS=24 TRUTH_PROCESSES=3 shrink it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.figures import cpu, print_table, with_bounds
from tests.benchmarks.truth import coverage
from tests.benchmarks.truth.counts import Count
from tests.benchmarks.truth.coverage import Known
from tests.benchmarks.truth.sizes import size
from tests.benchmarks.truth.workers import REPOSITORY

pytestmark = [pytest.mark.truth, pytest.mark.timeout(5400)]

# Of each condition.
INTERVALS = size("TRUTH_INTERVALS", 300)
PROCESSES = max(3, size("TRUTH_PROCESSES", 15) // 3 * 3)
REPLAYED = 3000

# Further steps after each; the baseline takes 20. True speedups: 1.05, 0.955 and 1.
FURTHER = (19, 21, 20)

LOWEST, HIGHEST = 0.93, 0.97
# By what factor the ratio that is held for true may be wrong: a tenth of an interval's usual half-width.
INEXACT = 1.003

Row = tuple[str, ...]


def test_intervals_cover_a_known_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)  # where the worker finds `known.py`
    config = coverage.config("search.timing.block_s=0.02", "search.timing.max_pairs=12")
    found: list[Known] = []
    for process in range(PROCESSES):  # both conditions in turn: what drifts does so for both
        for loaded in (False, True):
            each = -(-INTERVALS // PROCESSES)
            found += coverage.measure(config, tmp_path, process, each=each, further=FURTHER, loaded=loaded)
    rows: list[Row] = []
    judged: dict[str, Count] = {}
    for loaded in (False, True):
        rows += _rows([known for known in found if known.loaded is loaded], judged)
    head = ("interval", "covers [95 %]", "hits", "of", "load beside", "true ratio", "estimate / truth")
    print_table("Coverage of known ratios, nominally 95 %", head, rows, cpu())
    for loaded in (False, True):
        off = coverage.off_by([known for known in found if known.loaded is loaded])
        assert off.low < INEXACT, with_bounds(off)
        assert off.high > 1 / INEXACT, with_bounds(off)
    for name, count in judged.items():
        assert count.bounds[1] >= LOWEST, f"{name}: {count}"
        assert count.bounds[0] <= HIGHEST, f"{name}: {count}"


def _rows(found: list[Known], judged: dict[str, Count]) -> list[Row]:
    beside = "random bursts" if found[0].loaded else "none"
    within = Count.over(known.covered for known in found)
    over = coverage.pooled(found)
    judged |= {f"within a process, load {beside}": within, f"over 3 processes, load {beside}": over}
    replayed = coverage.pooled_by_replay(found, REPLAYED)
    rows: list[Row] = [
        (name, str(count), str(count.hits), str(count.of), beside, "all", with_bounds(coverage.off_by(found)))
        for name, count in (("within one process", within), ("over 3 processes", over))
    ]
    rows.append(("the same, drawn anew", f"{100 * replayed.share:.1f} %", "", str(REPLAYED), beside, "all", ""))
    for truth in sorted({known.truth for known in found}):
        those = [known for known in found if known.truth == truth]
        count = Count.over(known.covered for known in those)
        off = with_bounds(coverage.off_by(those))
        rows.append(("within one process", str(count), str(count.hits), str(count.of), beside, f"{truth:.3f}", off))
    return rows
