from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

from autotune.record import events as ev
from autotune.record.record import decode, encode
from tests.sample_study import sample_events

KINDS = get_args(ev.Event)
EVENTS = [
    *sample_events(),
    *sample_events(winner=False, stand_in=True, on_target=False),
    *sample_events(interrupted=True),
    ev.SinkFailed("mlflow", "OSError: disk full"),
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


@pytest.mark.parametrize("kind", KINDS)
def test_no_event_has_a_field_that_its_line_needs_for_itself(kind: type[ev.Event]) -> None:
    assert "event" not in {field.name for field in fields(kind)}


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
