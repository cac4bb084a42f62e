"""The winner's curse: is the quoted speedup unbiased, where the figure that the winner was picked by is not?

Whole studies, with their unchanged code, in a world of 23 candidates that are 1.3 times as fast as the baseline, give
or take 1 %. Their block times carry recorded noise: every worker of a study is a recorded process, every probe one of
its comparisons. The truth is known, so the figures of a study can be held against it.

Two errors are told. That of the replay is small, for studies are cheap. That of the recording is how well its processes
know that the baseline is as fast as itself: no replay knows a bias better than that.

It times nothing. About 3 minutes a recording: `python -m pytest tests/benchmarks/truth/test_curse.py -m truth -s`
TRUTH_CURSES=20 shrinks it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.figures import cpu, print_table
from tests.benchmarks.truth import aa, curse, recorded
from tests.benchmarks.truth.sizes import size

pytestmark = [pytest.mark.truth, pytest.mark.timeout(3600)]

STUDIES = size("TRUTH_CURSES", 300)

# Per cent.
UNBIASED, STANDARD_ERROR = 1.0, 0.4


@pytest.mark.parametrize("path", recorded.recordings(), ids=lambda path: path.stem)
@pytest.mark.parametrize("loaded", [False, True], ids=["quiet", "loaded"])
def test_the_quoted_speedup_is_unbiased(path: Path, loaded: bool, tmp_path: Path) -> None:
    noise = recorded.read(path)
    processes = noise.of(loaded=loaded)
    found = curse.study(processes, tmp_path, STUDIES)
    known, spread = aa.between_processes(processes)
    rows = []
    for name, logs in (
        ("quoted: the winner, confirmed", found.quoted),
        ("the same winner, screened", found.screened),
        ("the fastest at screening", found.fastest),
        ("naive: the best of single timings", found.naive),
    ):
        off, error = curse.bias(logs)
        rows.append((name, f"{off:+.2f} %", f"{error:.2f} %", str(len(logs))))
    head = ("figure", "over the truth", "standard error", "studies")
    print_table(f"Winner's curse: recorded noise of {path.stem}, {'loaded' if loaded else 'quiet'}", head, rows, cpu())
    standard_error = spread / len(processes) ** 0.5
    print(
        f"the recording itself: {100 * (known.estimate - 1):+.2f} %, standard error {standard_error:.2f} %,"
        f" {len(processes)} processes; {found.none} studies confirmed nothing"
    )
    quoted, error = curse.bias(found.quoted)
    assert error < STANDARD_ERROR
    assert abs(quoted) < UNBIASED
    assert curse.bias(found.fastest)[0] > quoted
