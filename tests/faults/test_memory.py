"""A true lack of memory, under a true limit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.record import events as ev
from autotune.trial import FailureKind
from tests.end_to_end.person import Person
from tests.faults.planned import Planned
from tests.faults.rehearsed import GROUP, Rehearsed

pytestmark = pytest.mark.slow

_LIMIT_BYTES = 1_200_000_000


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group below this process's own, in which a whole study has 1.2 GB, if one can be made here."""
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        folder = Path("/sys/fs/cgroup", controllers, path.lstrip("/"), f"autotune-test-{os.getpid()}")
        limit = folder / ("memory.max" if controllers == "" else "memory.limit_in_bytes")
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            limit.write_text(str(_LIMIT_BYTES), encoding="ascii")
            yield folder
            return
        except OSError:
            continue
        finally:
            folder.rmdir()
    pytest.skip("no control group with a limit on memory can be made here")


@pytest.mark.parametrize("place", ["probe.screen", "train.verify"])
def test_a_candidate_that_eats_memory_is_stopped_before_the_kernel_picks_somebody(
    person: Person, group: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv(GROUP, str(group))
    study = Rehearsed(person)
    study.plan([Planned(place, "eats_memory", batch=64)])
    assert study.run("search.trial_timeout_s=60").returncode in (0, 3), study.done
    study.assert_reported()
    [failed] = [event for event in study.events if isinstance(event, ev.TrialFailed)]
    assert (failed.candidate.batch_size, failed.failure.kind) == (64, FailureKind.OOM)
    assert study.winner.batch_size == 32
