"""A server's life, with a small one in place of MLflow's."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import webbrowser
from pathlib import Path

import pytest

from autotune.errors import UserError
from autotune.viewers import serving

# Starts a child of its own, as MLflow's server starts workers, and tells who that is.
SERVER = """
import http.server, subprocess, sys
from pathlib import Path
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
Path(sys.argv[2]).write_text(str(child.pid))
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.slow
def test_ctrl_c_ends_a_server_with_all_that_it_has_started(tmp_path: Path, port: int) -> None:
    said: list[str] = []

    def ready() -> None:
        said.append((tmp_path / "child").read_text())
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    command = [sys.executable, "-c", SERVER, str(port), str(tmp_path / "child")]
    assert serving.serve(command, f"http://127.0.0.1:{port}", ready) == 0
    [child] = said
    until = time.monotonic() + 10
    while _runs(int(child)):
        assert time.monotonic() < until, "it has outlived its server"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_server_that_does_not_start_is_told(port: int) -> None:
    with pytest.raises(UserError, match="exit status 3"):
        serving.serve([sys.executable, "-c", "raise SystemExit(3)"], f"http://127.0.0.1:{port}", lambda: None)


@pytest.mark.parametrize("taken", [True, False])
def test_a_port_on_which_something_listens_is_refused(port: int, taken: bool) -> None:
    with socket.socket() as other:
        if taken:
            other.bind(("127.0.0.1", port))
            other.listen()
            with pytest.raises(UserError, match=f"port {port} .* PORT="):
                serving.require_free(port)
        else:
            serving.require_free(port)


@pytest.mark.parametrize("wrong", [0, 70_000])
def test_a_port_that_cannot_be_is_refused(wrong: int) -> None:
    with pytest.raises(UserError, match=f"port {wrong} cannot be listened on .*: choose another with --port, or"):
        serving.require_free(wrong)


def test_nothing_is_opened_without_a_screen_nor_without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(webbrowser, "open", opened.append)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not serving.show("http://x")
    assert opened == []
    monkeypatch.setenv("DISPLAY", ":0")
    serving.show("http://x")
    assert opened == ["http://x"]

    def broken(_: str) -> bool:
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "open", broken)
    assert not serving.show("http://x")


def _runs(pid: int) -> bool:
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.returncode == 0 and not done.stdout.strip().startswith("Z")
