from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, get_args, get_type_hints

import pytest

from autotune.record import events as ev
from autotune.record.lines import decode, encode
from autotune.sweep import Sweep
from autotune.trial import Candidate, EarlyStop, Failure, FailureKind, LayerHarm, Policy, Stage, Xla
from tests.sample_anatomy import rich_anatomy
from tests.sample_study import sample_events

KINDS = get_args(ev.Event)


def cut_short() -> Iterator[ev.Event]:
    """A job of a multirun, a training stopped early, a screening given up, a verdict that another's training gave."""
    for event in sample_events():
        match event:
            case ev.Trained():
                stopped = EarlyStop(3, 0.7, higher=False)
                yield replace(event, run=replace(event.run, metric=None, stopped=stopped), delta=None)
            case ev.Probed():
                yield replace(event, probe=replace(event.probe, hopeless_below=1.25))
            case ev.TrialJudged():
                yield replace(event, vouched_by=2)
            case ev.StudyStarted():
                yield replace(event, sweep=Sweep("2026-11-30 08:46:14 over model", "model=cifar_mlp"))
            case _:
                pass


_KEPT = Candidate(Policy("mixed_float16", ("dense_1", "block/norm")), 64, Xla.ON, (96, 64))

EVENTS = [
    *sample_events(),
    *sample_events(winner=False, stand_in=True, on_target=False),
    *sample_events(interrupted=True),
    *sample_events(objective="energy", relative=True),
    *sample_events(objective="time_to_accuracy"),
    *cut_short(),
    ev.SinkFailed("mlflow", "OSError: disk full"),
    ev.InspectionStarted(1),
    ev.Inspected(rich_anatomy(), None),
    ev.Inspected(None, "crash: the worker died of SIGKILL during inspect"),
    ev.HarmMeasured(3, _KEPT, (LayerHarm("dense_1", None, 64), LayerHarm("relu", 0.25, 0)), None, 2.5),
    ev.HarmMeasured(4, _KEPT, (), Failure(FailureKind.OOM, "no memory is left"), 0.5),
    ev.EarlierStudy("2026-03-01/11-00-00_net", (Candidate(Policy("mixed_bfloat16"), 64, Xla.OFF, (96, 64), 8),)),
    ev.StudyResumed(
        1772363700.0, 95.5, (7, 8), ev.InFlight(3, Stage.VERIFY, 1), ("search.trials was 8 and is 9",), "x"
    ),
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_event_comes_back_equal_and_of_equal_types(kind: type[ev.Event]) -> None:
    examples = [event for event in EVENTS if type(event) is kind]
    assert examples, f"no example of {kind.__name__}"
    for event in examples:
        back = decode(encode(event))
        assert type(back) is kind
        assert back == event
        assert repr(back) == repr(event), "a tuple is a tuple again, an enum an enum"
        assert encode(back) == encode(event)


def test_every_optional_field_of_what_travels_is_used_by_some_example() -> None:
    """What a sample never holds, no sink is ever seen to show; what a healthy study does not have is let go."""
    unused = {
        f"{kind.__name__}.{field.name}"
        for kind, values in _by_kind(EVENTS).items()
        for field in fields(kind)
        if field.default is not MISSING and all(getattr(value, field.name) == field.default for value in values)
    }
    # What a default study does not search: tests/report/test_further.py.
    asked_for = {"accumulation", "tf32", "pipeline"}
    unused -= {f"{kind}.{name}" for kind in ("Candidate", "SpaceSummary", "Effect") for name in asked_for}
    assert unused == {
        "Confirmation.failure",
        "DatasetFacts.notes",
        "Effect.own_train_step",
        "TrainingRun.model_path",
        "TrainingRun.permuted",
        "TrainingRun.right",
        "TrainingRun.worker",
        "TrialFailed.seed",
        "TrialJudged.accuracy",
    }


def _by_kind(values: Iterable[Any]) -> dict[type, list[Any]]:
    """All dataclass instances within some values, by their class."""
    found: dict[type, list[Any]] = {}
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, tuple | list):
            left += value
        elif is_dataclass(value):
            found.setdefault(type(value), []).append(value)
            left += [getattr(value, field.name) for field in fields(value)]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_event_has_a_field_that_its_line_needs_for_itself(kind: type[ev.Event]) -> None:
    assert not {"event", "at_s"} & {field.name for field in fields(kind)}


def test_kinds_are_told_apart_by_name() -> None:
    assert len({kind.__name__ for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_annotation_resolves(kind: type[ev.Event]) -> None:
    assert get_type_hints(kind).keys() == {field.name for field in fields(kind)}


def test_lines_are_plain_json() -> None:
    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not JSON")

    for event in EVENTS:
        assert isinstance(json.loads(encode(event), parse_constant=refuse), dict)
