"""What crosses the pipes comes out as it went in, on one line."""

from __future__ import annotations

import math
from typing import Any

import pytest

from autotune import codec
from autotune.trial import Candidate, Failure, FailureKind, Policy, Xla
from autotune.worker import protocol
from autotune.worker.child.main import Session, answer, encoded
from autotune.worker.protocol import Answer, Request
from tests.worker import people

CANDIDATE = Candidate(Policy("mixed_bfloat16"), 64, Xla.ON, (16,), 8)
RECIPE = people.recipe(CANDIDATE, people.config())
MESSAGES = [
    Request("open", {"config": {"data": {"args": {"path": "a\nb\r\u2028é"}}}}),
    Answer(value={"a": [1, 2.5, None, "x\ny"]}),
    Answer(value=None),
    Answer(failure=Failure(FailureKind.OOM, "one line", "several\nlines")),
    Answer(user_error=("DataError", "no such file")),
    protocol.ProbeArgs(CANDIDATE, RECIPE, CANDIDATE, RECIPE, 3, 0.1, 10, 30, 0.02, 5.0),
    protocol.ProbeArgs(CANDIDATE, RECIPE, None, None, 3, 0.1, 10, 30, 0.02, 5.0),
    protocol.TrainArgs(CANDIDATE, RECIPE, 7, "/models/a.keras"),
    protocol.TrainArgs(CANDIDATE, RECIPE, 7),
    protocol.EvaluateArgs("/a.keras", None),
    protocol.Evaluation(40, 0.9, None, 2, 1),
    protocol.ExportArgs("/a.keras", "/saved", "/reference.npz"),
    protocol.ReloadArgs("/saved", "/reference.npz", "mixed_float16"),
    protocol.RegisterArgs("/a.keras", "sqlite:///a.db", "r", "net", "candidate", {"a": "b"}, ["keras==3"], "/r.npz"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_one_line_and_back(message: Any) -> None:
    line = codec.dumps(message)
    assert "\n" not in line
    assert codec.loads(type(message), line) == message


def test_a_whole_configuration_crosses() -> None:
    config = people.config(mode="signal", value=11)
    request = codec.loads(Request, codec.dumps(Request("open", {"config": codec.plain(config)})))
    assert codec.restore(type(config), request.args["config"]) == config


@pytest.mark.parametrize("value", [math.nan, math.inf, object()])
def test_a_value_that_json_does_not_have_is_a_failure_and_not_the_end_of_the_worker(value: Any) -> None:
    failure = codec.loads(Answer, encoded(Answer(value=value))).failure
    assert failure is not None
    assert failure.kind is FailureKind.INVALID
    assert failure.message.startswith("the answer cannot be sent: ")


@pytest.mark.slow
def test_work_before_the_data_is_a_fault_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    failure = answer(Session(), Request("prepare", {})).failure
    assert failure is not None
    assert failure.message == "RuntimeError: the worker was asked to work before its data was loaded"
    assert "Traceback" in failure.detail
    assert "Traceback" in capsys.readouterr().err
