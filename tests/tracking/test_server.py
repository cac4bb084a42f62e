"""A real MLflow server that is killed, started again, and stopped in the middle of a study."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autotune.config.schema import Config
from autotune.tracking import sink as sinks
from autotune.tracking.sink import MlflowSink
from autotune.tracking.uri import Store
from tests.sample_study import sample_events
from tests.tracking.logged import STUDY, contents, tell, until

pytestmark = pytest.mark.slow


class Server:
    """`mlflow server` on one database and one port, in a process group of its own."""

    def __init__(self, database: Path, artifacts: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.uri = f"http://127.0.0.1:{self.port}"
        self._arguments = ["--backend-store-uri", f"sqlite:///{database}", "--artifacts-destination", str(artifacts)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, "--workers", "1", *self._arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until(self._answers, within_s=120)

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, number)

    def kill(self) -> None:
        if self._process is not None:
            self.send(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.uri}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@pytest.fixture
def server(tmp_path: Path, store: Store) -> Iterator[Server]:
    assert store.sqlite_file is not None
    server = Server(store.sqlite_file, tmp_path / "served")
    try:
        yield server
    finally:
        server.kill()


@pytest.mark.long
def test_a_study_outlives_a_server_that_is_killed_started_again_and_hangs(
    config: Config, store: Store, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "3")
    monkeypatch.setattr(sinks, "FIRST_PAUSE_S", 0.2)
    monkeypatch.setattr(sinks, "LONGEST_PAUSE_S", 1.0)
    server.start()
    config.tracking.uri = server.uri
    sink = MlflowSink(config, STUDY)
    events = sample_events()
    tell(sink, events[:25])
    run_id = sink.run_id()
    assert run_id is not None

    tell(sink, events[25:30])
    server.kill()  # perhaps while it takes these
    tell(sink, events[30:45])
    until(lambda: sink.run_id() is None)
    server.start()
    until(lambda: sink.run_id() == run_id)

    server.send(signal.SIGSTOP)
    tell(sink, events[45:70])
    until(lambda: sink.run_id() is None)
    server.send(signal.SIGCONT)
    tell(sink, events[70:])
    sink.close()

    held = contents(store)
    assert held == _undisturbed(config, store)
    assert held["study"]["tags"]["winner"] == "4"


def _undisturbed(config: Config, store: Store) -> dict[str, dict[str, Any]]:
    """The same study, in another experiment of the same database and without a fault."""
    config.tracking.uri, config.tracking.experiment = None, "undisturbed"
    sink = MlflowSink(config, STUDY, store=store)
    tell(sink, sample_events())
    sink.close()
    return contents(store, "undisturbed")
