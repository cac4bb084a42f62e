"""One worker process, from the parent's side: spawned, asked with a time limit, watched, and ended as a whole group."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from autotune import codec, errors
from autotune.errors import TrialFault, UserError
from autotune.trial import FailureKind
from autotune.worker.protocol import Answer, Request

# How often the worker's memory is looked at while it is busy; rarely, so as not to disturb what is timed.
_POLL_S = 0.5
_GRACE_S = 2.0

# `-P` keeps the current folder from the front of the path, where a person's own `queue.py` would hide Python's. This
# package's home comes last: it matters only in a checkout that was never installed.
_LAUNCH = (
    "import sys; sys.path.append(sys.argv[1]);"
    " from autotune.worker.child.main import serve; serve(int(sys.argv[2]), int(sys.argv[3]))"
)
_HOME = str(Path(__file__).resolve().parents[2])

# Variables that this program reads or sets for itself and that must not reach the worker.
_PRIVATE = ("HYDRA_FULL_ERROR",)


class WorkerProcess:
    """A child process that answers one request at a time.

    Args:
        environment: variables set for the child, on top of the parent's.
        log_path: file that takes the child's standard output and error.
        memory_limit_mb: resident size at which the child is ended [MB], before the machine's OOM killer picks someone.
    """

    def __init__(self, environment: Mapping[str, str], log_path: Path, memory_limit_mb: float | None) -> None:
        self._memory_limit_mb = memory_limit_mb
        to_child_read, to_child_write = os.pipe()
        from_child_read, from_child_write = os.pipe()
        inherited = {key: value for key, value in os.environ.items() if key not in _PRIVATE}
        with log_path.open("ab") as log:
            self._popen = subprocess.Popen(
                [sys.executable, "-P", "-c", _LAUNCH, _HOME, str(to_child_read), str(from_child_write)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**inherited, **environment},
                pass_fds=(to_child_read, from_child_write),
                start_new_session=True,  # Ctrl-C is the parent's to handle, and the whole group can be ended
            )
        os.close(to_child_read)
        os.close(from_child_write)
        self._requests = os.fdopen(to_child_write, "w", encoding="utf-8")
        self._answers = from_child_read
        self._received = bytearray()
        self._ps = psutil.Process(self._popen.pid)

    @property
    def pid(self) -> int:
        """The process's id, which is also its group's."""
        return self._popen.pid

    def resident_mb(self) -> float:
        """Resident size of the process now [MB]; 0 once it has ended."""
        try:
            return float(self._ps.memory_info().rss) / 1e6
        except psutil.Error:
            return 0.0

    def ask(self, operation: str, args: Mapping[str, Any], timeout_s: float | None) -> Any:
        """Send one request and wait for its answer.

        Returns:
            The plain value that the operation returned.

        Raises:
            TrialFault: the operation failed, ran past its time limit or outgrew memory, or the process died. After the
                latter three the process is gone.
            UserError: a person's mistake that only the worker could see.
        """
        try:
            self._requests.write(codec.dumps(Request(operation, dict(args))) + "\n")
            self._requests.flush()
        except (BrokenPipeError, OSError):
            raise self._death(operation) from None
        answer = codec.loads(Answer, self._wait(operation, timeout_s))
        if answer.user_error is not None:
            name, message = answer.user_error
            kind = getattr(errors, name, UserError)
            raise kind(message)
        if answer.failure is not None:
            raise TrialFault(answer.failure.kind, answer.failure.message, answer.failure.detail)
        return answer.value

    def _wait(self, operation: str, timeout_s: float | None) -> str:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            while b"\n" not in self._received:
                if selector.select(_POLL_S):
                    chunk = os.read(self._answers, 1 << 16)
                    if not chunk:
                        raise self._death(operation)
                    self._received += chunk
                    continue
                # A process that a person's code forked holds the pipe open, so its end alone does not tell.
                if self._popen.poll() is not None and not selector.select(0):
                    raise self._death(operation)
                self._check_memory(operation)
                if deadline is not None and time.monotonic() > deadline:
                    self.kill()
                    raise TrialFault(FailureKind.TIMEOUT, f"{operation} ran past its time limit of {timeout_s:.0f} s")
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received = bytearray(rest)
        return line.decode()

    def _check_memory(self, operation: str) -> None:
        if self._memory_limit_mb is None or (resident := self.resident_mb()) <= self._memory_limit_mb:
            return
        self.kill()
        raise TrialFault(
            FailureKind.OOM,
            f"the worker grew to {resident:,.0f} MB during {operation}, above the {self._memory_limit_mb:,.0f} MB that"
            " this machine can give it",
        )

    def _death(self, operation: str) -> TrialFault:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_GRACE_S)
        code = self._popen.returncode
        self.kill()
        if code is None:
            return TrialFault(FailureKind.CRASH, f"the worker closed its pipe during {operation}")
        if code < 0:
            name = signal.Signals(-code).name
            hint = " (often the kernel's answer to memory running out)" if name == "SIGKILL" else ""
            return TrialFault(FailureKind.CRASH, f"the worker died of {name} during {operation}{hint}")
        return TrialFault(FailureKind.CRASH, f"the worker ended with status {code} during {operation}")

    def kill(self) -> None:
        """End the whole process group and reap it; once, since its number may belong to another group later."""
        if self._answers < 0:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        self._close_pipes()

    def close(self) -> None:
        """Let the process end by itself, then make sure of it."""
        with contextlib.suppress(OSError):
            self._requests.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_GRACE_S)
        self.kill()

    def _close_pipes(self) -> None:
        with contextlib.suppress(OSError):
            self._requests.close()
        if self._answers >= 0:
            os.close(self._answers)
            self._answers = -1
