"""The product's own study on landscapes: on one that is made up, and on each that was recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from autotune.record import events as ev
from autotune.study.study import run_study
from tests.benchmarks.search import lines, made_up
from tests.benchmarks.search.landscape import Landscape
from tests.benchmarks.search.studies import MemoryRecord, World

LANDSCAPES: dict[str, Callable[[], Landscape]] = {
    "made_up": made_up.landscape,
    **{path.stem: partial(lines.read, path) for path in lines.recorded()},
}


@pytest.fixture(params=LANDSCAPES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return World(LANDSCAPES[request.param](), tmp_path)


def test_no_study_ends_with_something_slower_than_the_baseline(world: World) -> None:
    for seed in range(5):
        found, view = world.study(seed)

        assert world.landscape.speedup(found.winner) >= 1
        assert view.decided is not None
        assert view.decided.interrupted is None
        assert sum(found.stages_s.values()) == pytest.approx(found.cost_s, abs=0.01)
        assert sum(found.spent_s.values()) == pytest.approx(found.cost_s)


def test_a_study_that_is_replayed_is_the_same(world: World) -> None:
    events = []
    for _ in range(2):
        context = world.begin(7)
        run_study(context, world.landscape.head.accelerator)
        assert isinstance(context.record, MemoryRecord)
        events.append(context.record.events)

    assert events[0] == events[1]
    assert isinstance(events[0][-1][1], ev.StudyDecided)


def test_what_loses_accuracy_is_not_confirmed(tmp_path: Path) -> None:
    world = World(made_up.landscape(), tmp_path)

    for seed in range(10):
        assert world.study(seed)[0].winner.batch_size == 64  # 128 and 256 are faster, and lose


def test_the_budget_sees_the_clock_that_requests_move(tmp_path: Path) -> None:
    unlimited = World(made_up.landscape(), tmp_path).study(0)[0]
    context = World(made_up.landscape(), tmp_path, ("search.budget=90s",)).begin(0)
    run_study(context, "CPU")

    assert unlimited.cost_s > 120
    assert context.clock() < 120
    assert any(note.topic == "budget" for note in context.view.notes)
