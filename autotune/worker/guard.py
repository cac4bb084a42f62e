"""Ends what a worker leaves behind: processes that left its group, and its temporary folder.

It does so too when the parent was killed, and no code of the parent's can. Run as a script, this is the worker's guard:
a small process with a session of its own, which no signal to the worker's group and no C call that holds the worker's
interpreter can stop. It waits until its parent's end of a pipe is closed, and the kernel closes it whatever the parent
dies of. (PR_SET_PDEATHSIG would end the worker alone and not what it started, and would do so when the *thread* that
started it ends.) It imports the standard library only, without site packages.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

MARK = "AUTOTUNE_WORKER"
"""Variable in the environment of a worker and of all that it starts; its value is the worker's own."""

_PROC = Path("/proc")

# Processes are ended in turns, since one may start another while it is looked for.
_TURN_S = 0.02
_TURNS_S = 3.0
_DISMISSAL_S = 5.0


class Guard:
    """The guard of one worker, from the parent's side. It is there before the worker is.

    Args:
        mark: value of `MARK` in the worker's environment.
        scratch: folder to remove at the end.

    Raises:
        OSError: no process can be started; the folder is gone.
    """

    def __init__(self, mark: str, scratch: Path | None) -> None:
        self._mark = mark
        self._scratch = scratch
        read_fd, self._lifeline = os.pipe()
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, str(read_fd), mark, str(scratch or "")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(read_fd,),
                start_new_session=True,
            )
        except OSError:
            os.close(self._lifeline)
            clean(mark, scratch)
            raise
        finally:
            os.close(read_fd)

    def finish(self) -> None:
        """Have it do its work now, and see it end; if somebody has killed it, its work is done here."""
        os.close(self._lifeline)
        try:
            status = self._popen.wait(_DISMISSAL_S)
        except subprocess.TimeoutExpired:  # a file system that does not answer; it goes on without us
            return
        if status != 0:
            clean(self._mark, self._scratch)


def clean(mark: str, scratch: Path | None) -> None:
    """End every process that carries the mark, then remove the folder."""
    deadline = time.monotonic() + _TURNS_S
    while (found := _marked(mark)) and time.monotonic() < deadline:
        for pid in found:
            _end(pid)
        time.sleep(_TURN_S)
    if scratch is not None:
        import shutil  # not needed by a guard that waits

        shutil.rmtree(scratch, ignore_errors=True)


def _marked(mark: str) -> list[int]:
    """Living processes with the mark in the environment that they were started with; a zombie has none (proc(5))."""
    sought = f"{MARK}={mark}".encode()
    found = []
    for environ in _PROC.glob("[0-9]*/environ"):  # there are none where processes are not files, as on macOS
        with contextlib.suppress(OSError):  # ended meanwhile, or another user's
            if sought in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
    return found


def _end(pid: int) -> None:
    """Kill it, with its group if it leads one: what it started there may have an environment of its own."""
    with contextlib.suppress(OSError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)


def _wait(lifeline: int) -> None:
    while os.read(lifeline, 1):
        pass


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a batch system sends them to all that it finds
        signal.signal(ignored, signal.SIG_IGN)
    _wait(int(sys.argv[1]))
    clean(sys.argv[2], Path(sys.argv[3]) if sys.argv[3] else None)
