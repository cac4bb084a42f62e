"""Every operation of a study runs into a time limit, on real workers that hang in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from autotune.config.schema import Config
from autotune.errors import TrialFault
from autotune.trial import FailureKind, Stage, Xla
from autotune.worker import time_limits
from autotune.worker.executor import ENVIRONMENT, LocalExecutor
from autotune.worker.process import WorkerProcess
from autotune.worker.protocol import EvaluateArgs, ExportArgs, InspectArgs, RegisterArgs, ReloadArgs
from tests.worker import people, stubs

CANDIDATE = people.candidate(xla=Xla.OFF)


def config() -> Config:
    made = people.config()
    made.search.trial_timeout_s = 2.0
    return made


class Executor(LocalExecutor):
    """The real one, on workers of stubs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(config(), folder / "log", None)
        self.spawned: list[WorkerProcess] = []

    def _spawn(self) -> WorkerProcess:
        self.spawned.append(WorkerProcess(ENVIRONMENT, self._log_path, None, stubs.ACTOR))
        return self.spawned[-1]


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    """Its first load is under a limit of seconds here, not of an hour."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time_limits, "_FIRST_LOAD_S", 2.0)
    monkeypatch.setattr(time_limits, "_START_S", 2.0)
    monkeypatch.setattr(time_limits, "_SLACK", 1.0)
    made = Executor(tmp_path)
    yield made
    made.close()


def reload(executor: Executor) -> None:
    with executor.aside() as worker:
        worker.reload(ReloadArgs("a.keras", "r.npz", "float32"))


def register(executor: Executor) -> None:
    with executor.aside() as worker:
        worker.register(RegisterArgs("a.keras", "sqlite:///a.db", "r", "net", "best", {}, [], "r.npz"))


ASKED: dict[str, Callable[[Executor], object]] = {
    "open": lambda executor: executor.load_data(),
    "start": lambda executor: executor.start(),
    "prepare": lambda executor: executor.start(),
    "probe": lambda executor: executor.probe(CANDIDATE, people.recipe(CANDIDATE, config()), None, Stage.BASELINE),
    "train": lambda executor: executor.train(CANDIDATE, 0, people.recipe(CANDIDATE, config())),
    "inspect": lambda executor: executor.inspect(
        InspectArgs(CANDIDATE, None, people.recipe(CANDIDATE, config()), calibrate=False)
    ),
    "evaluate": lambda executor: executor.evaluate(EvaluateArgs("a.keras", None)),
    "export": lambda executor: executor.export(ExportArgs("a.keras", "saved", "r.npz")),
    "reload": reload,
    "register": register,
}


# Each waits for a limit; what has a limit of another kind is tried always.
_OFTEN = ("open", "start", "probe", "reload", "register")


@pytest.mark.parametrize(
    "operation", [one if one in _OFTEN else pytest.param(one, marks=pytest.mark.long) for one in ASKED]
)
def test_a_hang_ends_and_is_told_once(executor: Executor, tmp_path: Path, operation: str) -> None:
    (tmp_path / "hangs").write_text(operation, encoding="utf-8")
    began = time.monotonic()
    said = (
        f"^{operation} (ran past its time limit of|gave no sign of life for) [12] s; search.trial_timeout_s raises it$"
    )
    with pytest.raises(TrialFault, match=said) as caught:
        ASKED[operation](executor)
    assert caught.value.kind is FailureKind.TIMEOUT
    assert time.monotonic() - began < 15
    assert len(executor.spawned) == 1, "a hang is not waited for twice"
    assert not psutil.pid_exists(executor.spawned[0].pid)


def test_data_that_blocks_when_it_is_loaded_again_does_not_hold_the_study(executor: Executor, tmp_path: Path) -> None:
    assert executor.load_data().name == "mine"
    executor.replace()
    (tmp_path / "hangs").write_text("open", encoding="utf-8")
    with pytest.raises(TrialFault, match=r"^open ran past its time limit of \d s"):
        executor.load_data()
    (tmp_path / "hangs").unlink()
    assert executor.load_data().name == "mine"
