"""What `test_signals` runs and sends signals to: a run in small, with a worker, a record and a report.

    python interrupted.py FOLDER WORK REPORT_S

Every moment that a test waits for is a line on standard output; what is left behind is in FOLDER.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

from autotune import interruption
from autotune.cli import signals
from autotune.worker.guard import MARK, Guard

# A worker that hears nothing: it is in a session of its own, and ignores what can be ignored.
_WORKER = """
import signal, time
for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(one, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""


def say(word: str) -> None:
    with contextlib.suppress(OSError):  # a terminal that is gone, as the record takes it
        print(word, flush=True)


def start_worker(folder: Path) -> Guard:
    with interruption.held():
        guard = Guard(mark := uuid.uuid4().hex, scratch=None)
        worker = subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            start_new_session=True,
            stdout=subprocess.PIPE,
            env={**os.environ, MARK: mark},
        )
        (folder / "worker").write_text(str(worker.pid))
        assert worker.stdout is not None
        worker.stdout.readline()
        return guard


def sleep(folder: Path) -> None:
    """Work that any signal ends."""
    say("working")
    time.sleep(600)


def stubborn(folder: Path) -> None:
    """Work that catches what it should not."""
    while True:
        with contextlib.suppress(BaseException):
            say("working")
            time.sleep(600)


def locked(folder: Path) -> None:
    """A call into C that no signal ends, and during which no handler runs."""
    mutex = ctypes.create_string_buffer(256)
    libc = ctypes.CDLL(None)
    libc.pthread_mutex_lock(mutex)
    say("working")
    libc.pthread_mutex_lock(mutex)


def record(folder: Path) -> None:
    """A record's line in two halves, and the state folded from it; counts are compared when it was interrupted."""
    lines = 0
    with (folder / "record").open("a") as file:
        try:
            say("working")
            while True:
                with interruption.held():
                    file.write("first half,")
                    file.flush()
                    time.sleep(0.0005)
                    file.write(" second half\n")
                    file.flush()
                    lines += 1
        finally:
            (folder / "applied").write_text(str(lines))


def nothing(folder: Path) -> None:
    """Work that was done before anybody asked for an end."""


def report(folder: Path, takes_s: float) -> None:
    with interruption.finishing():
        say(f"reporting {interruption.remaining_s()}")
        ends_s = time.monotonic() + takes_s
        while (left_s := ends_s - time.monotonic()) > 0:
            time.sleep(min(left_s, 0.1))
        (folder / "report").write_text("done")


def run(folder: Path, work: str, report_s: float) -> int:
    try:
        globals()[work](folder)
    except KeyboardInterrupt as error:
        say(f"ends: {type(error).__name__}")
        return 130
    finally:
        report(folder, report_s)
    return 0


def main(folder: Path, work: str, report_s: float) -> int:
    with signals.handled():
        guard = start_worker(folder)
        try:
            try:
                status = run(folder, work, report_s)
            finally:
                guard.finish()
        except KeyboardInterrupt:
            interruption.leave()
            status = 130
        with contextlib.suppress(OSError):
            sys.stdout.write("a last word, which Python would flush as it ends")
    return signals.exit_status(status)


if __name__ == "__main__":
    if os.isatty(0):  # a terminal of its own, whose end is a SIGHUP
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
