"""What is asked once more, and what is not; with real workers that die once, or always."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autotune.errors import TrialFault
from autotune.trial import Candidate, FailureKind
from autotune.worker.executor import LocalExecutor
from autotune.worker.fate import MemoryEvidence, death
from autotune.worker.protocol import understood
from autotune.worker.second_try import MOST_FRUITLESS, told_twice, worth_another_try
from tests.worker import people
from tests.worker.faulty import FaultyWorker


def died(returncode: int | None) -> TrialFault:
    return death("train", returncode, MemoryEvidence())


@pytest.mark.parametrize(
    ("fault", "worth"),
    [
        (died(-signal.SIGKILL), True),
        (died(-signal.SIGSEGV), True),
        (died(-signal.SIGABRT), True),  # what a failed CUDA call ends in, too
        (died(None), True),
        (TrialFault(FailureKind.CRASH, "InternalError: the device"), True),
        (died(-signal.SIGILL), False),
        (died(1), False),
        *((TrialFault(kind, "it"), False) for kind in FailureKind if kind is not FailureKind.CRASH),
    ],
    ids=str,
)
def test_only_what_may_be_chance_is_worth_another_try(fault: TrialFault, worth: bool) -> None:
    assert worth_another_try(fault, fruitless=0) is worth


def test_a_machine_on_which_second_tries_never_help_gets_no_more() -> None:
    worth = [worth_another_try(died(-signal.SIGKILL), fruitless) for fruitless in range(MOST_FRUITLESS + 2)]
    assert worth == [True] * MOST_FRUITLESS + [False] * 2


def test_both_tries_are_told() -> None:
    first, second = died(-signal.SIGKILL), died(-signal.SIGSEGV)
    assert told_twice(second, second).message == "the worker died of SIGSEGV during train (so did a first try)"
    said = told_twice(second, first)
    assert "died of SIGSEGV during train (at a first try: the worker died of SIGKILL" in said.message
    assert said.kind is FailureKind.CRASH


class Executor(LocalExecutor):
    """The real one, on workers of stubs."""

    def __init__(self, folder: Path) -> None:
        self.spawned: list[FaultyWorker] = []
        self.retried: list[tuple[str, str]] = []
        self._folder = folder
        super().__init__(
            people.config(), folder / "log", None, on_retry=lambda *told: self.retried.append((told[0], str(told[1])))
        )

    def _spawn(self) -> FaultyWorker:
        self.spawned.append(FaultyWorker(self._folder / "log"))
        return self.spawned[-1]

    def does(self, operation: str, **args: Any) -> Any:
        """An operation of the stub, on a worker that is ready without data or framework."""

        def attempt() -> Any:
            process = self._workers._process or self._spawn()
            self._workers._process = process
            return process.ask(operation, args, 60.0)

        return self._tried(operation, attempt)


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    monkeypatch.chdir(tmp_path)
    made = Executor(tmp_path)
    yield made
    made.close()


def test_a_worker_killed_once_costs_a_second_try_in_a_fresh_one_which_is_told(executor: Executor) -> None:
    assert executor.does("die_once", number=int(signal.SIGSEGV)) == "alive"
    assert executor.retried == [("die_once", "the worker died of SIGSEGV during die_once")]
    assert len({worker.pid for worker in executor.spawned}) == 2
    executor.spawned[0].assert_gone()


def test_one_that_always_dies_is_tried_twice_and_after_some_such_only_once(executor: Executor) -> None:
    for _ in range(MOST_FRUITLESS):
        with pytest.raises(TrialFault, match=r"died of SIGSEGV during die \(so did a first try\)$"):
            executor.does("die", number=int(signal.SIGSEGV))
    assert len(executor.spawned) == 2 * MOST_FRUITLESS
    with pytest.raises(TrialFault, match=r"died of SIGSEGV during die$"):
        executor.does("die", number=int(signal.SIGSEGV))
    assert len(executor.spawned) == 2 * MOST_FRUITLESS + 1


def test_a_second_try_that_helps_gives_new_credit(executor: Executor, tmp_path: Path) -> None:
    with pytest.raises(TrialFault):
        executor.does("die", number=int(signal.SIGSEGV))
    executor.does("die_once", number=int(signal.SIGSEGV))
    assert executor._fruitless == 0


def test_an_exit_of_a_persons_own_is_not_tried_again(executor: Executor) -> None:
    with pytest.raises(TrialFault, match=r"ended with status 3 during exit$"):
        executor.does("exit", status=3)
    assert (len(executor.spawned), executor.retried) == (1, [])


def test_an_answer_of_another_shape_is_a_crash_and_not_a_traceback() -> None:
    for kind, value in ((float, "one"), (dict[str, str], [1]), (Candidate, {"policy": 3})):
        with pytest.raises(TrialFault, match="the worker's answer to reload is no") as caught:
            understood(kind, "reload", value)
        assert caught.value.kind is FailureKind.CRASH
    assert understood(type(None), "export", None) is None
