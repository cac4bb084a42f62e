"""Ctrl-C, SIGTERM and SIGHUP: real signals to a real process, at every moment that matters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from autotune.interruption import TERMINATION_S

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("interrupted.py")
HOURS_S = 9999
_GUARD_S = 10.0
PROMISE_S = 10.0


class Run:
    """`interrupted.py`, and what can be seen of it from outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[str] | None = None

    def start(self, work: str, report_s: float = 0.0, *, shell: str = "", terminal: int | None = None) -> None:
        """In a session of its own; on a terminal, or else with pipes."""
        words = [sys.executable, str(SCRIPT), str(self.folder), work, str(report_s)]
        if shell:
            words = ["sh", "-c", f'{shell}; exec "$@"', "sh", *words]
        stream = subprocess.PIPE if terminal is None else terminal
        buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
        self._process = subprocess.Popen(
            words, text=True, start_new_session=True, stdin=terminal, stdout=stream, stderr=stream, env=buffered
        )

    def hears(self, word: str) -> str:
        """The rest of the next line that begins with a word."""
        assert self._process is not None
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise AssertionError(f"it never said {word!r}: {self.complaint()}")

    def close_output(self) -> None:
        """As whoever reads it does by ending."""
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.stdout.close()

    def complaint(self) -> str:
        """What is on standard error, up to its end."""
        assert self._process is not None
        assert self._process.stderr is not None
        return self._process.stderr.read()

    def send(self, signum: int) -> float:
        """When it was sent [s]."""
        assert self._process is not None
        self._process.send_signal(signum)
        return time.monotonic()

    def status(self) -> int:
        """Its exit status, once it has ended."""
        assert self._process is not None
        return self._process.wait(timeout=60)

    def end(self) -> None:
        """Whatever a test has left."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        if self.leaves_a_worker:
            os.kill(self._worker, signal.SIGKILL)
            pytest.fail("its worker was left running")

    @property
    def reported(self) -> bool:
        return (self.folder / "report").exists()

    @property
    def leaves_a_worker(self) -> bool:
        """Whether its worker lives on; the worker's guard may need a moment."""
        until_s = time.monotonic() + _GUARD_S
        while self._worker_runs:
            if time.monotonic() > until_s:
                return True
            time.sleep(0.02)
        return False

    @property
    def _worker_runs(self) -> bool:
        try:
            return psutil.Process(self._worker).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    @property
    def _worker(self) -> int:
        return int((self.folder / "worker").read_text())


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    found = Run(tmp_path)
    yield found
    found.end()


def test_ctrl_c_once_finishes_the_report(run: Run) -> None:
    run.start("sleep", report_s=0.5)
    run.hears("working")
    run.send(signal.SIGINT)
    assert run.hears("ends:") == "KeyboardInterrupt"
    assert run.hears("reporting") == "None"
    assert (run.status(), run.reported, run.leaves_a_worker) == (130, True, False)
    assert run.complaint() == ""


def test_ctrl_c_while_the_report_is_written_does_not_cut_it(run: Run) -> None:
    run.start("nothing", report_s=1.0)
    run.hears("reporting")
    run.send(signal.SIGINT)
    assert (run.status(), run.reported) == (130, True)


def test_ctrl_c_twice_stops_now(run: Run) -> None:
    run.start("sleep", report_s=HOURS_S)
    run.hears("working")
    run.send(signal.SIGINT)
    run.hears("reporting")
    run.send(signal.SIGINT)
    assert (run.status(), run.reported, run.leaves_a_worker) == (130, False, False)
    assert run.complaint() == ""


def test_a_second_ctrl_c_is_not_held_up_by_what_catches_it(run: Run) -> None:
    run.start("stubborn")
    for _ in range(2):
        run.hears("working")
        run.send(signal.SIGINT)
    assert (run.status(), run.leaves_a_worker) == (130, False)
    assert "out of time" in run.complaint()


def test_a_third_ctrl_c_ends_it_at_once(run: Run) -> None:
    run.start("locked")
    run.hears("working")
    for _ in range(3):
        run.send(signal.SIGINT)
        time.sleep(0.05)  # of two of the same signal at once the kernel keeps one
    assert (run.status(), run.leaves_a_worker) == (130, False)
    assert run.complaint() == ""  # not for being out of time


def test_what_comes_while_an_earlier_one_is_answered_makes_neither_traceback_nor_other_status() -> None:
    """Between an `except KeyboardInterrupt` and its first line there is room for the next signal."""
    script = (
        "import signal, sys\n"
        "from autotune.cli import signals\n"
        "with signals.handled():\n"
        "    try:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    except KeyboardInterrupt:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")


@pytest.mark.parametrize(("signum", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_termination_finishes_a_report_for_which_there_is_time(run: Run, signum: int, status: int) -> None:
    run.start("sleep", report_s=0.5)
    run.hears("working")
    run.send(signum)
    assert run.hears("ends:") == "Terminated"
    assert 0 < float(run.hears("reporting")) < TERMINATION_S
    assert (run.status(), run.reported, run.leaves_a_worker) == (status, True, False)


@pytest.mark.parametrize(("work", "moment"), [("sleep", "working"), ("nothing", "reporting"), ("locked", "working")])
def test_termination_takes_less_than_ten_seconds_whatever_it_is_doing(run: Run, work: str, moment: str) -> None:
    run.start(work, report_s=HOURS_S)
    run.hears(moment)
    sent_s = run.send(signal.SIGTERM)
    time.sleep(0.3)
    run.send(signal.SIGTERM)  # as some schedulers do; it asks for nothing more
    assert (run.status(), run.reported, run.leaves_a_worker) == (143, False, False)
    assert time.monotonic() - sent_s < PROMISE_S
    assert "out of time" in run.complaint()


def test_termination_while_ctrl_c_is_obeyed_sets_a_deadline_and_lets_the_report_finish(run: Run) -> None:
    run.start("sleep", report_s=1.0)
    run.hears("working")
    run.send(signal.SIGINT)
    run.hears("reporting")
    run.send(signal.SIGTERM)
    assert (run.status(), run.reported, run.leaves_a_worker) == (143, True, False)


def test_ctrl_c_after_a_termination_stops_now(run: Run) -> None:
    run.start("sleep", report_s=HOURS_S)
    run.hears("working")
    sent_s = run.send(signal.SIGTERM)
    run.hears("reporting")
    run.send(signal.SIGINT)
    assert (run.status(), run.reported, run.leaves_a_worker) == (143, False, False)
    assert time.monotonic() - sent_s < TERMINATION_S


@pytest.mark.parametrize("name", ["INT", "HUP"])
def test_what_is_ignored_from_the_start_stays_ignored(run: Run, name: str) -> None:
    """`nohup`, and the background jobs of a script."""
    run.start("sleep", shell=f"trap '' {name}")
    run.hears("working")
    run.send(getattr(signal, f"SIG{name}"))
    run.send(signal.SIGTERM)
    assert run.hears("ends:") == "Terminated"
    assert run.status() == 143


def test_a_terminal_that_is_closed_is_a_termination(run: Run) -> None:
    """Nothing can be written to it any more, which must not change how the run ends."""
    own, others = os.openpty()
    run.start("sleep", report_s=0.5, terminal=others)
    os.close(others)
    heard = b""
    while b"working" not in heard:
        heard += os.read(own, 1024)
    os.close(own)
    assert (run.status(), run.reported, run.leaves_a_worker) == (129, True, False)


def test_a_reader_that_is_gone_does_not_change_how_it_ends(run: Run) -> None:
    run.start("sleep", report_s=0.5)
    run.hears("working")
    run.close_output()
    run.send(signal.SIGHUP)
    assert (run.status(), run.reported, run.leaves_a_worker) == (129, True, False)


@pytest.mark.parametrize("wait_s", [0.02 * n + 0.0003 * n for n in range(12)])
def test_what_is_held_is_never_torn(run: Run, wait_s: float) -> None:
    run.start("record")
    run.hears("working")
    time.sleep(wait_s)
    run.send(signal.SIGINT)
    assert run.status() == 130
    text = (run.folder / "record").read_text()
    assert text == "first half, second half\n" * int((run.folder / "applied").read_text())
