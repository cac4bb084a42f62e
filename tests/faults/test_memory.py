"""A true lack of memory, under a true limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.record import events as ev
from autotune.trial import FailureKind
from tests.control_groups import limited_group
from tests.end_to_end.person import Person
from tests.faults.planned import Planned
from tests.faults.rehearsed import GROUP, Rehearsed

pytestmark = pytest.mark.slow

_LIMIT_BYTES = 1_200_000_000


@pytest.fixture
def group() -> Iterator[Path]:
    """In which a whole study has 1.2 GB."""
    with limited_group(_LIMIT_BYTES) as folder:
        yield folder


@pytest.mark.parametrize("place", ["probe.screen", pytest.param("train.verify", marks=pytest.mark.long)])
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
