"""The winner's curse: is the quoted speedup unbiased, where the figure that the winner was picked by is not?

Whole studies, with their unchanged code, in a world of 23 candidates that are 1.3 times as fast as the baseline, give
or take 1 %. Their block times carry recorded noise: every worker of a study is a recorded process, every probe one of
its comparisons. The truth is known, so the figures of a study can be held against it.

The standard error is that of the replay and of the recording together: how well the recorded processes know that the
baseline is as fast as itself is how well any replay of them can know a bias. Loaded, few processes were recorded, so
there the figures are shown, and fail only where they contradict the claim.

It times nothing. About 2 minutes a recording: `python -m pytest tests/benchmarks/truth/test_curse.py -m truth -s`
TRUTH_CURSES=20 shrinks it.
"""

from __future__ import annotations

from math import hypot
from pathlib import Path

import pytest

from tests.benchmarks.figures import cpu, print_table
from tests.benchmarks.truth import curse, recorded
from tests.benchmarks.truth.miniature import between_processes
from tests.benchmarks.truth.sizes import size

pytestmark = [pytest.mark.truth, pytest.mark.timeout(3600)]

STUDIES = size("TRUTH_CURSES", 600)

# Per cent.
UNBIASED, STANDARD_ERROR = 1.0, 0.4


@pytest.mark.parametrize("path", recorded.recordings(), ids=lambda path: path.stem)
@pytest.mark.parametrize("loaded", [False, True], ids=["quiet", "loaded"])
def test_the_quoted_speedup_is_unbiased(path: Path, loaded: bool, tmp_path: Path) -> None:
    noise = recorded.read(path)
    processes = noise.of(loaded=loaded)
    found = curse.study(processes, tmp_path, STUDIES)
    known, spread = between_processes(processes)
    of_recording = spread / len(processes) ** 0.5
    rows = []
    for name, logs in (
        ("quoted: the winner, confirmed", found.quoted),
        ("the same winner, screened", found.screened),
        ("the fastest at screening", found.fastest),
        ("naive: the best of single timings", found.naive),
    ):
        off, error = curse.bias(logs)
        rows.append((name, f"{off:+.2f} %", f"{hypot(error, of_recording):.2f} %", f"{error:.2f} %", str(len(logs))))
    head = ("figure", "over the truth", "standard error", "of the replay", "studies")
    print_table(f"Winner's curse: recorded noise of {path.stem}, {'loaded' if loaded else 'quiet'}", head, rows, cpu())
    print(
        f"the recording, {len(processes)} processes, calls the baseline {100 * (known.estimate - 1):+.2f} % faster than"
        f" itself, standard error {of_recording:.2f} %; {found.none} studies confirmed nothing"
    )
    quoted, error = curse.bias(found.quoted)
    error = hypot(error, of_recording)
    if not loaded:
        assert error < STANDARD_ERROR, "too little noise was recorded"
        assert abs(quoted) < UNBIASED
    assert abs(quoted) - 2 * error < UNBIASED
    assert curse.bias(found.fastest)[0] > quoted
