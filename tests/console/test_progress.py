from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.console.progress import Progress, budget_of
from autotune.record.events import Event, StageStarted, StudyStarted
from autotune.record.view import StudyView
from autotune.trial import Stage
from tests.sample_study import sample_events


def follow(events: list[Event], at_s: float = 0.0) -> tuple[Progress, StudyView]:
    progress, view = Progress(), StudyView()
    for event in events:
        view.apply(event)
        progress.on_event(event, view.stage.stage if view.stage else None, at_s)
    return progress, view


def until(stage: Stage) -> list[Event]:
    events = sample_events()
    end = next(i for i, e in enumerate(events) if isinstance(e, StageStarted) and e.stage is stage)
    return events[: end + 1]


def with_budget(events: list[Event], budget: str | None) -> list[Event]:
    def change(event: Event) -> Event:
        if not isinstance(event, StudyStarted):
            return event
        return replace(event, config={**event.config, "search": {"budget": budget}})

    return [change(event) for event in events]


def test_a_stage_that_begins_has_its_share_and_those_after_it():
    progress, view = follow(until(Stage.VERIFY))
    assert progress.left_s(view, 0.0) == 80 + 110 + 40


def test_within_a_stage_the_share_shrinks_with_work_or_with_time_whichever_is_less():
    events = until(Stage.VERIFY)
    done = sample_events()[len(events) : len(events) + 4]  # two trainings
    progress, view = follow([*events, *done])
    assert progress.done == 2
    assert progress.left_s(view, 0.0) == pytest.approx(80 * 12 / 14 + 150)
    assert progress.left_s(view, 60.0) == pytest.approx(20 + 150)
    assert progress.left_s(view, 100.0) == pytest.approx(0 + 150)


def test_never_more_than_the_budget_has_left():
    progress, view = follow(until(Stage.VERIFY))
    assert progress.left_s(view, 300.0) == 60
    assert progress.left_s(view, 1000.0) == 0


def test_without_a_plan_the_budget_is_all_that_is_known_and_without_either_nothing():
    start = sample_events()[:1]
    progress, view = follow(start)
    assert progress.left_s(view, 10.0) == 350
    progress, view = follow(with_budget(start, None))
    assert progress.left_s(view, 10.0) is None
    progress, view = follow(with_budget(until(Stage.CONFIRM), None))
    assert progress.left_s(view, 0.0) == 150


def test_units_are_trainings_trials_and_finalists_and_not_the_baseline_beside_them():
    counts = {}
    progress, view = Progress(), StudyView()
    for event in sample_events():
        view.apply(event)
        progress.on_event(event, view.stage.stage if view.stage else None, 0.0)
        if view.stage is not None and view.decided is None:
            counts[view.stage.stage] = progress.done
    assert counts == {Stage.BASELINE: 3, Stage.SCREEN: 8, Stage.VERIFY: 6, Stage.CONFIRM: 2}


def test_budget_is_read_as_people_write_it():
    assert budget_of(follow(with_budget(sample_events()[:1], "1h30m"))[1]) == 5400
    assert budget_of(StudyView()) is None
