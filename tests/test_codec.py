from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from subprocess import run
from sys import executable

import pytest
from cattrs import BaseValidationError

from autotune import codec
from autotune.record.events import Probed, StageStarted
from autotune.trial import Candidate, Failure, FailureKind, Interval, Policy, Stage, TrialState, Xla
from tests.sample_study import sample_events

CANDIDATE = Candidate(Policy("mixed_float16"), 256, Xla.ON, (3008, 1024), 8)
INTERVAL = Interval(1.5, 1.4, 1.6, 0.95, 12, "by hand")


def test_a_candidate_as_plain_values() -> None:
    assert codec.plain(CANDIDATE) == {
        "policy": {"name": "mixed_float16", "float32_layers": []},
        "batch_size": 256,
        "xla": "on",
        "widths": [3008, 1024],
        "steps_per_execution": 8,
        "accumulation": 1,
        "tf32": None,
        "pipeline": "host",
    }


def test_a_candidate_of_a_version_that_knew_fewer_settings_is_read() -> None:
    old = {"policy": {"name": "mixed_float16"}, "batch_size": 256, "xla": "on", "widths": [3008, 1024]}
    assert codec.restore(Candidate, old | {"steps_per_execution": 8}) == CANDIDATE


@pytest.mark.parametrize(
    "value",
    [
        CANDIDATE,
        INTERVAL,
        Failure(FailureKind.CRASH, "signal 11", "first\nsecond"),
        StageStarted(Stage.VERIFY, 4),
        Policy("é, ü, 𝛿, \u2028"),
        next(event for event in sample_events() if isinstance(event, Probed)),
    ],
)
def test_dumps_and_loads_are_inverse_on_one_line(value: object) -> None:
    line = codec.dumps(value)
    assert "\n" not in line
    assert codec.loads(type(value), line) == value
    assert codec.restore(type(value), codec.plain(value)) == value


def test_floats_come_back_bit_for_bit() -> None:
    for number in (0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e16 + 2):
        back = codec.loads(Interval, codec.dumps(Interval(number, 0.0, 0.0, 0.95, 1, ""))).estimate
        assert back == number
        assert math.copysign(1, back) == math.copysign(1, number)


def test_text_stays_readable_and_lines_stay_short() -> None:
    assert codec.dumps(Policy("é")) == '{"name":"é","float32_layers":[]}'


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        codec.dumps(Interval(number, 0.0, 0.0, 0.95, 1, ""))


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("xla", "sometimes"),
        ("batch_size", None),
        ("batch_size", "many"),
        ("widths", 3008),
        ("policy", "mixed_float16"),
        ("surprise", 1),
    ],
)
def test_a_value_of_another_shape_is_refused(change: str, value: object) -> None:
    with pytest.raises(BaseValidationError):
        codec.restore(Candidate, codec.plain(CANDIDATE) | {change: value})


def test_a_missing_field_is_refused_and_one_with_a_default_is_not() -> None:
    plain = codec.plain(CANDIDATE)
    del plain["steps_per_execution"]
    assert codec.restore(Candidate, plain).steps_per_execution == 1
    del plain["xla"]
    with pytest.raises(BaseValidationError):
        codec.restore(Candidate, plain)


@dataclass(frozen=True)
class Primitives:
    """One field of each kind that JSON has."""

    text: str = ""
    count: int = 0
    ratio: float = 0.0
    switch: bool = False


@pytest.mark.parametrize(
    ("field", "refused"),
    [
        ("text", (None, 1, 1.5, True, [])),
        ("count", (None, "1", 7.9, 7.0, True)),
        ("ratio", (None, "1.5", True)),
        ("switch", (None, 0, 1.0, "true")),
    ],
)
def test_a_primitive_of_another_type_is_refused_and_not_bent(field: str, refused: tuple[object, ...]) -> None:
    for value in refused:
        with pytest.raises(BaseValidationError):
            codec.restore(Primitives, {field: value})


def test_a_whole_number_is_a_float_where_one_is_expected() -> None:
    back = codec.restore(Primitives, {"text": "a", "count": 2, "ratio": 2, "switch": True})
    assert repr(back) == repr(Primitives("a", 2, 2.0, True))


def test_every_member_of_an_enum_is_its_value() -> None:
    @dataclass(frozen=True)
    class Holder:
        state: TrialState

    for state in TrialState:
        assert codec.plain(state) == state.value
        assert json.loads(codec.dumps(state)) == state.value
        assert codec.restore(TrialState, state.value) is state


def test_the_values_and_the_codec_load_no_framework() -> None:
    heavy = "{'tensorflow', 'keras', 'mlflow', 'optuna', 'scipy', 'numpy'}"
    code = f"import sys, autotune.codec, autotune.record.record, autotune.space.space, autotune.decide.accuracy\
, autotune.decide.timing, autotune.decide.health; print(sorted({heavy} & set(sys.modules)))"
    root = Path(__file__).parent.parent
    done = run([executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
