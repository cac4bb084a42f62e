"""A study of two hundred trials: its parent takes no more memory at the end than after the first few."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from autotune.record import events as ev
from autotune.record.lines import FILE_NAME
from tests.end_to_end.person import Person
from tests.faults.rehearsed import Rehearsed

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(400)]

_TRIALS = 200
_SETTLED = 50  # trials after which everything has been imported and every cache is filled

# Seen: 0.04, for the view keeps every probe, and the sink what a run was sent. People report 7 to 18 MB a trial of
# tuners that measure in their own process.
_MOST_MB_A_TRIAL = 0.2


def test_the_parent_does_not_grow_with_its_trials(person: Person) -> None:
    batches = ",".join(map(str, range(4, 125, 2)))
    study = Rehearsed(
        person,
        (
            "tracking=mlflow",
            f"search.batch_sizes=[{batches}]",
            f"search.trials={_TRIALS}",
            "search.policies=[float32,mixed_bfloat16]",
            "search.xla=[false,true]",
            "train.batch_size=8",
            "search.finalists=1",
        ),
    )
    seen: dict[int, float] = {}
    with study.start() as process:
        parent = psutil.Process(process.pid)
        while process.poll() is None:
            trials = _screened(study.folder / FILE_NAME)
            try:
                seen[trials] = parent.memory_info().rss / 1e6
            except psutil.Error:  # it has just ended
                break
            time.sleep(0.1)
        out, err = process.communicate(timeout=60)
    assert process.returncode in (0, 3), err
    assert len({e.trial for e in study.events if isinstance(e, ev.Probed)}) == _TRIALS + 1, out
    early = max(mb for trials, mb in seen.items() if trials <= _SETTLED)
    late = max(mb for trials, mb in seen.items() if _TRIALS - 50 <= trials < _TRIALS)  # before the report is drawn
    print(f"{early:.0f} MB after {_SETTLED} trials, {late:.0f} MB after {_TRIALS}")
    assert late - early < _MOST_MB_A_TRIAL * (_TRIALS - _SETTLED)
    study.assert_nothing_runs()


def _screened(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open(encoding="utf-8", errors="replace") as file:
        return sum('"event":"Probed"' in line[:40] for line in file)
