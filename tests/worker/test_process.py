"""Real child processes with real faults: a person's own data source runs before the framework is imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from autotune import codec
from autotune.errors import AutotuneError, ConfigError, DataError, TrialFault
from autotune.hardware.cgroup import oom_kills
from autotune.trial import FailureKind
from autotune.worker.process import WorkerProcess
from tests.worker import people
from tests.worker.processes import gone, members, soon

Start = Callable[..., WorkerProcess]
LOG = "worker.log"


@pytest.fixture(autouse=True)
def _person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people.write(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts workers; ends them when the test is over, whatever it found."""
    started: list[WorkerProcess] = []

    def make(memory_limit_mb: float | None = None, **environment: str) -> WorkerProcess:
        started.append(WorkerProcess(environment, tmp_path / LOG, memory_limit_mb))
        return started[-1]

    yield make
    for worker in started:
        worker.kill()


def opened(worker: WorkerProcess, timeout_s: float | None = 30.0, **source: Any) -> Any:
    return worker.ask("open", {"config": codec.plain(people.config(**source))}, timeout_s)


def fault_of(worker: WorkerProcess, timeout_s: float | None = 30.0, **source: Any) -> TrialFault:
    with pytest.raises(TrialFault) as caught:
        opened(worker, timeout_s, **source)
    return caught.value


def assert_ended_and_replaceable(worker: WorkerProcess, start: Start) -> None:
    """Nothing is left of it, its group or its pipes, and the next one works."""
    assert not psutil.pid_exists(worker.pid)
    assert worker.resident_mb() == 0.0
    assert soon(lambda: not members(worker.pid))
    assert opened(start())["train"] == 16


def test_answers_and_ends_when_closed(start: Start) -> None:
    worker = start()
    facts = opened(worker)
    assert (facts["name"], facts["train"], facts["validation"], facts["test"]) == ("mine", 16, 4, 20)
    assert opened(worker, mode="counted")["num_classes"] == 2  # the same process, asked again
    assert worker.resident_mb() > 5
    worker.close()
    assert worker._popen.returncode == 0
    assert_ended_and_replaceable(worker, start)


def test_a_worker_that_is_closed_does_what_was_registered_for_its_end_and_frees_nothing(start: Start) -> None:
    """A framework takes seconds to free what it has."""
    worker = start()
    opened(worker, mode="registered")
    worker.close()
    assert worker._popen.returncode == 0
    assert (Path("registered").exists(), Path("freed").exists()) == (True, False)


def test_a_source_that_raises_is_the_persons_mistake_and_the_worker_lives(start: Start) -> None:
    worker = start()
    with pytest.raises(DataError) as caught:
        opened(worker, mode="raise")
    assert str(caught.value) == "the data source source.load failed: RuntimeError: no such table"
    assert opened(worker)["train"] == 16


@pytest.mark.parametrize(
    ("config", "kind", "said"),
    [
        ({"mode": "wrong"}, DataError, "x_test and y_test must have one length, but got 20 and 19"),
        ({"mode": "fine", "table": "a"}, ConfigError, "got an unexpected keyword argument 'table'"),
        ({"npz": Path("absent.npz")}, DataError, "there is none at"),
    ],
)
def test_a_persons_mistake_is_raised_here_by_its_class_and_in_one_line(
    start: Start, config: dict[str, Any], kind: type[AutotuneError], said: str
) -> None:
    with pytest.raises(kind) as caught:
        opened(start(), **config)
    assert type(caught.value) is kind
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_hang_ends_at_its_time_limit_with_all_that_it_started(start: Start) -> None:
    worker = start()
    began = time.monotonic()
    fault = fault_of(worker, 2.0, mode="sleep")
    assert time.monotonic() - began < 20
    assert (fault.kind, fault.message) == (
        FailureKind.TIMEOUT,
        "open ran past its time limit of 2 s; search.trial_timeout_s raises it",
    )
    assert gone(int(Path("grandchild").read_text(encoding="utf-8")))
    assert_ended_and_replaceable(worker, start)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGKILL"])
def test_a_death_by_signal_is_a_crash_that_names_it(start: Start, name: str) -> None:
    worker = start()
    fault = fault_of(worker, None, mode="signal", value=int(signal.Signals[name]))
    assert fault.kind is FailureKind.CRASH
    assert fault.message.startswith(f"the worker died of {name} during open")
    assert ("out-of-memory killer" in fault.message) == (name == "SIGKILL" and oom_kills() is not None)
    assert_ended_and_replaceable(worker, start)


def test_a_death_is_seen_although_a_forked_process_holds_the_pipe_open(start: Start) -> None:
    worker = start()
    fault = fault_of(worker, 60.0, mode="fork")
    assert (fault.kind, fault.message) == (FailureKind.CRASH, "the worker died of SIGSEGV during open")
    assert_ended_and_replaceable(worker, start)


def test_a_worker_that_closes_its_pipes_is_ended_and_not_called_killed(start: Start) -> None:
    worker = start()
    fault = fault_of(worker, None, mode="close")
    assert (fault.kind, fault.message) == (FailureKind.CRASH, "the worker closed its pipe during open")
    assert_ended_and_replaceable(worker, start)


def test_an_exit_is_a_crash_with_its_status(start: Start) -> None:
    worker = start()
    fault = fault_of(worker, None, mode="exit", value=7)
    assert (fault.kind, fault.message) == (FailureKind.CRASH, "the worker ended with status 7 during open")
    assert_ended_and_replaceable(worker, start)


def test_growth_beyond_the_memory_limit_is_ended_before_the_machine_ends_someone(start: Start) -> None:
    worker = start(memory_limit_mb=300.0)
    fault = fault_of(worker, mode="grow", value=400)
    assert fault.kind is FailureKind.OOM
    assert "during open, above the 300 MB" in fault.message
    assert_ended_and_replaceable(worker, start)


def test_growth_within_the_limit_is_let_be(start: Start) -> None:
    fault = fault_of(start(memory_limit_mb=2000.0), 2.0, mode="grow", value=200)
    assert fault.kind is FailureKind.TIMEOUT


def test_megabytes_on_standard_output_go_to_the_log_and_harm_nothing(start: Start, tmp_path: Path) -> None:
    worker = start()
    assert opened(worker, mode="print", value=50)["train"] == 16
    assert opened(worker)["train"] == 16
    log = (tmp_path / LOG).read_text(encoding="utf-8")
    assert log.count("{not the protocol}") == log.count("{nor this}") == 50 * 4000


def test_a_worker_that_has_died_between_two_requests_is_a_crash_of_the_next(start: Start) -> None:
    worker = start()
    opened(worker)
    os.kill(worker.pid, signal.SIGKILL)
    assert fault_of(worker).message.startswith("the worker died of SIGKILL during open")
    assert_ended_and_replaceable(worker, start)


def test_ended_twice_is_ended_once(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be another group's by then."""
    worker = start()
    worker.kill()
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("a group was killed that may not be ours"))
    worker.kill()
    worker.close()
    assert not psutil.pid_exists(worker.pid)


def test_the_environment_is_the_parents_and_what_was_set(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    worker = start(KERAS_BACKEND="tensorflow")
    opened(worker)  # until it has begun, the system tells what its parent's environment was
    found = psutil.Process(worker.pid).environ()
    assert (found["KERAS_BACKEND"], found["OMP_NUM_THREADS"]) == ("tensorflow", "3")
    assert "HYDRA_FULL_ERROR" not in found


PARENT = """
    import os, sys, threading, time
    from pathlib import Path
    from autotune import codec
    from autotune.trust import trusting
    from autotune.worker.process import WorkerProcess
    from tests.worker import people

    with trusting(people.MODULES):
        worker = WorkerProcess({{}}, Path("worker.log"), None)
    worker.ask("open", {{"config": codec.plain(people.config())}}, None)
    if {busy}:
        plain = codec.plain(people.config(mode="sleep"))
        threading.Thread(target=worker.ask, args=("open", {{"config": plain}}, None), daemon=True).start()
        while not Path("grandchild").exists():
            time.sleep(0.02)
    print(worker.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_the_worker_ends_when_its_parent_is_killed(busy: bool) -> None:
    """Also in the middle of a request, which may be a training of minutes, or hang; and with what it had started."""
    here = Path(__file__).parents[2]
    script = textwrap.dedent(PARENT).format(busy=busy)
    environment = {**os.environ, "PYTHONPATH": str(here)}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        try:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            assert psutil.pid_exists(pid)
        finally:
            parent.kill()
    assert gone(pid)
    if busy:
        assert gone(int(Path("grandchild").read_text(encoding="utf-8")))
