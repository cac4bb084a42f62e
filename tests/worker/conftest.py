"""What a person has trusted on the command line in these tests, and workers that go wrong on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autotune.trust import trusting
from tests.worker import people
from tests.worker.faulty import FaultyWorker


@pytest.fixture(autouse=True, scope="session")
def _trust() -> Iterator[None]:
    with trusting((*people.MODULES, "steps", "persons", "tests", "keras.callbacks")):
        yield


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FaultyWorker]]:
    """Starts workers of stubs in a folder of their own; ends them when the test is over."""
    monkeypatch.chdir(tmp_path)
    started: list[FaultyWorker] = []

    def start(memory_limit_mb: float | None = None, **environment: str) -> FaultyWorker:
        started.append(FaultyWorker(tmp_path / "log", memory_limit_mb, **environment))
        return started[-1]

    yield start
    for worker in started:
        worker.kill()
