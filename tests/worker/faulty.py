"""A worker of stubs, as tests ask it and look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from autotune.errors import TrialFault
from autotune.worker.process import WorkerProcess
from tests.worker import stubs
from tests.worker.processes import members, soon


class FaultyWorker(WorkerProcess):
    """A real process that serves `stubs.Stub`."""

    def __init__(self, log_path: Path, memory_limit_mb: float | None = None, **environment: str) -> None:
        super().__init__(environment, log_path, memory_limit_mb, stubs.LAUNCH)
        self.scratch = Path(str(self.does("environment", name="TMPDIR")))
        assert self.scratch.is_dir()

    def does(self, operation: str, **args: object) -> object:
        """What an operation returns."""
        return self.ask(operation, args, 60.0)

    def fault_of(
        self, operation: str, timeout_s: float | None = 60.0, silence_s: float | None = None, **args: Any
    ) -> TrialFault:
        """How an operation fails."""
        with pytest.raises(TrialFault) as caught:
            self.ask(operation, args, timeout_s, silence_s)
        return caught.value

    def assert_gone(self) -> None:
        """Nothing is left: no process, no group, no folder."""
        assert not psutil.pid_exists(self.pid)
        assert soon(lambda: not members(self.pid))
        assert not self.scratch.exists()


def others() -> list[int]:
    """What `Stub.start_others` has started."""
    return [int(pid) for pid in Path("others").read_text(encoding="utf-8").split()]
