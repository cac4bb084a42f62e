"""Workers that go wrong in every way that a process can: each is a typed failure, and nothing is left of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from autotune.trial import FailureKind
from tests.worker.faulty import FaultyWorker
from tests.worker.processes import soon

Start = Callable[..., FaultyWorker]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("garbage\n", "JSONDecodeError"),
        ("\xff\xfe\n", "UnicodeDecodeError"),
        ("[" * 100_000 + "\n", "RecursionError"),
        ('{"value":1,"strange":2}\n', "ClassValidationError"),
        ('{"value":1,"number":2}\n{"value":1}\n', None),  # the right one, then one more: told at the next request
        ('{"value":1,"number":1}\n', "the answer to request 1, when 2 was asked"),
        ('{"failure":{"kind":"boredom","message":""},"number":2}\n', "ClassValidationError"),
    ],
)
def test_what_is_no_answer_is_a_crash_of_the_worker(faulty: Start, said: str, reason: str | None) -> None:
    worker = faulty()
    if reason is None:
        assert worker.does("write", text=said) == 1
        fault, operation = worker.fault_of("echo"), "echo"
        reason = "the answer to request 0, when 3 was asked"
    else:
        fault, operation = worker.fault_of("write", text=said), "write"
    assert fault.kind is FailureKind.CRASH
    assert fault.message == f"the worker wrote what is no answer to {operation}: {reason}"
    worker.assert_gone()


def test_a_line_without_an_end_is_not_kept(faulty: Start) -> None:
    worker = faulty()
    before_mb = psutil.Process().memory_info().rss / 1e6
    fault = worker.fault_of("write_for_ever")
    assert (fault.kind, fault.message) == (
        FailureKind.CRASH,
        "the worker wrote what is no answer to write_for_ever: a line without an end",
    )
    assert psutil.Process().memory_info().rss / 1e6 - before_mb < 150
    worker.assert_gone()


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (0, "the worker ended with status 0 during exit"),
        (3, "the worker ended with status 3 during exit"),
        (139, "the worker died of SIGSEGV during exit"),
        (250, "the worker ended with status 250 during exit"),
    ],
)
def test_an_end_in_the_middle_of_a_request(faulty: Start, returned: int, said: str) -> None:
    worker = faulty()
    fault = worker.fault_of("exit", status=returned)
    assert (fault.kind, fault.message) == (FailureKind.CRASH, said)
    worker.assert_gone()
    assert worker.fault_of("echo").message == "the worker had ended before echo"


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGFPE, "SIGFPE"), (signal.SIGRTMIN + 6, f"signal {signal.SIGRTMIN + 6}")]
)
def test_a_signal_is_named_and_one_without_a_name_numbered(faulty: Start, number: int, name: str) -> None:
    fault = faulty().fault_of("die", number=int(number))
    assert (fault.kind, fault.message) == (FailureKind.CRASH, f"the worker died of {name} during die")


@pytest.mark.parametrize("operation", ["sleep", "stop", "immune", "hold_interpreter"])
def test_a_hang_of_any_kind_ends_at_its_time_limit(faulty: Start, operation: str) -> None:
    worker = faulty()
    began = time.monotonic()
    fault = worker.fault_of(operation, 1.0)
    assert (fault.kind, fault.message) == (
        FailureKind.TIMEOUT,
        f"{operation} ran past its time limit of 1 s; search.trial_timeout_s raises it",
    )
    assert time.monotonic() - began < 10
    worker.assert_gone()


def test_a_worker_stopped_between_requests_takes_none_however_large(faulty: Start) -> None:
    worker = faulty()
    worker.does("stop_later")
    assert soon(lambda: psutil.Process(worker.pid).status() == psutil.STATUS_STOPPED)
    assert worker.fault_of("size", 1.0, text="x" * 1_000_000).kind is FailureKind.TIMEOUT
    worker.assert_gone()


def test_a_request_larger_than_a_pipe_arrives_whole(faulty: Start) -> None:
    assert faulty().does("size", text="ä" * 1_000_000) == 1_000_000


def test_a_path_that_is_not_utf_8_comes_back_as_it_went(faulty: Start) -> None:
    path = os.fsdecode(b"/data/\xff\xe9")
    assert faulty().does("echo", value=path) == path


def test_signs_of_life_keep_a_long_request_alive_and_silence_ends_it(faulty: Start) -> None:
    worker = faulty()
    assert worker.ask("signs_of_life", {"count": 10, "pause_s": 0.2}, None, 1.5) == "done"
    fault = worker.fault_of("sleep", None, 1.0)
    assert (fault.kind, fault.message) == (
        FailureKind.TIMEOUT,
        "sleep gave no sign of life for 1 s; search.trial_timeout_s raises it",
    )
    worker.assert_gone()


def test_a_copy_that_a_persons_code_forks_does_not_answer(faulty: Start) -> None:
    worker = faulty()
    assert worker.does("fork_and_fail") == "the worker"
    assert worker.does("echo", value=5) == 5


@pytest.mark.parametrize(
    ("operation", "args", "kind", "said"),
    [
        ("raise_one", {"name": "memory"}, FailureKind.OOM, "MemoryError: no room"),
        ("raise_one", {"name": "silent"}, FailureKind.INVALID, "Silent: (its text cannot be made)"),
        ("raise_one", {"name": "surrogate"}, FailureKind.INVALID, "ValueError: name ?"),
        ("close_streams", {}, FailureKind.INVALID, "ValueError: quiet"),
        ("no_such", {}, FailureKind.INVALID, "AttributeError: 'Stub' object has no attribute 'no_such'"),
    ],
)
def test_an_exception_is_an_answer_and_the_worker_lives(
    faulty: Start, operation: str, args: dict[str, Any], kind: FailureKind, said: str
) -> None:
    worker = faulty()
    fault = worker.fault_of(operation, **args)
    assert (fault.kind, fault.message) == (kind, said)
    assert worker.does("echo", value=1) == 1


def test_a_value_too_deep_to_be_told_is_a_failure(faulty: Start) -> None:
    assert faulty().fault_of("deep").kind in (FailureKind.INVALID, FailureKind.CRASH)
