"""One worker process, from the parent's side: spawned, asked with a time limit, watched, and ended as a whole group."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from autotune import codec, errors
from autotune.errors import TrialFault, UserError
from autotune.hardware.cgroup import oom_kills
from autotune.trial import FailureKind
from autotune.worker import log as worker_log
from autotune.worker.channel import ChannelClosed, LineTooLong
from autotune.worker.fate import MemoryEvidence, WorkerLost, death, overtime
from autotune.worker.guard import MARK, Guard
from autotune.worker.launch import LAUNCH, spawn
from autotune.worker.memory import MemoryWatch
from autotune.worker.protocol import Answer, Request
from autotune.worker.scratch import make_scratch

_GRACE_S = 2.0
_TICK_S = 0.01

# How long a killed process is waited for: one whose call into a driver or a file system does not return stays.
_DYING_S = 5.0


class WorkerProcess:
    """A child process that answers one request at a time.

    Args:
        environment: variables set for the child, on top of the parent's.
        log_path: file that takes the child's standard output and error.
        memory_limit_mb: what the child may take, with all that it starts [MB]; it is ended before the machine's OOM
            killer picks someone.
        launch: the Python text that the child runs, with this package's home, two descriptors and the trusted names as
            its arguments.

    Raises:
        TrialFault: no process can be started.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        log_path: Path,
        memory_limit_mb: float | None,
        launch: str = LAUNCH,
    ) -> None:
        self._log_path = log_path
        mark = uuid.uuid4().hex
        scratch = make_scratch(otherwise=log_path.parent)
        own = {**environment, MARK: mark} | ({} if scratch is None else {"TMPDIR": str(scratch)})
        self._log_began = _size(log_path)
        try:
            self._guard = Guard(mark, scratch)
            try:
                self._popen, self._channel = spawn(launch, own, log_path)
            except OSError:
                self._guard.finish()
                raise
        except OSError as error:
            kind = FailureKind.OOM if error.errno == errno.ENOMEM else FailureKind.CRASH
            raise TrialFault(kind, f"no worker can be started: {error}") from error
        self._watch = MemoryWatch(self._popen.pid, memory_limit_mb)
        self._kernel_kills = oom_kills()
        self._asked = 0
        self._ended = False

    @property
    def pid(self) -> int:
        """The process's id, which is also its group's."""
        return self._popen.pid

    def resident_mb(self) -> float:
        """Resident size of the process now [MB]; 0 once it has ended."""
        if self._ended:
            return 0.0
        try:
            return float(psutil.Process(self.pid).memory_info().rss) / 1e6
        except psutil.Error:
            return 0.0

    def ask(
        self, operation: str, args: Mapping[str, Any], timeout_s: float | None, silence_s: float | None = None
    ) -> Any:
        """Send one request and wait for its answer.

        Args:
            operation: see `autotune.worker.child.main.Session`.
            args: plain values.
            timeout_s: longest time for the whole of it [s].
            silence_s: longest time without a sign of life, for an operation that gives them [s].

        Returns:
            The plain value that the operation returned.

        Raises:
            TrialFault: the operation failed, ran past its time limit or outgrew memory, or the process died or did not
                answer what it was asked. After all but the first the process is gone.
            UserError: a person's mistake that only the worker could see.
        """
        self._asked += 1
        if self._ended:
            raise WorkerLost(FailureKind.CRASH, f"the worker had ended before {operation}")
        self._channel.send(codec.dumps(Request(operation, dict(args), self._asked)))
        try:
            limits_s = [math.inf if limit is None else limit for limit in (timeout_s, silence_s)]
            answer = self._understood(operation, self._wait(operation, *limits_s))
        except ChannelClosed:
            raise self._death(operation) from None
        except LineTooLong:
            raise self._babble(operation, "a line without an end") from None
        if answer.user_error is not None:
            raise _user_error(*answer.user_error)
        if answer.failure is not None:
            raise TrialFault(answer.failure.kind, answer.failure.message, answer.failure.detail)
        return answer.value

    def _wait(self, operation: str, timeout_s: float, silence_s: float) -> bytes:
        """The line that answers; an empty one is a sign of life."""
        began = heard = time.monotonic()
        ended = False
        while True:
            left_s = min(began + timeout_s, heard + silence_s) - time.monotonic()
            line = self._channel.receive(0.0 if ended else max(0.0, min(self._watch.wait_s(), left_s)))
            if line:
                return line
            if line is not None:
                heard = heard if ended else time.monotonic()
            elif ended:
                raise ChannelClosed
            else:
                # A process that a person's code forked holds the pipe open, so its end alone does not tell. What the
                # worker wrote before its own end is read first.
                ended = self._has_ended()
            self._check_memory(operation)
            self._check_time(f"{operation} ran past its time limit of", timeout_s, since_s=began)
            self._check_time(f"{operation} gave no sign of life for", silence_s, since_s=heard)
            worker_log.trim(self._log_path)

    def _check_memory(self, operation: str) -> None:
        if not self._watch.exceeded():
            return
        self.kill()
        raise WorkerLost(
            FailureKind.OOM,
            f"the worker grew to {self._watch.seen_mb:,.0f} MB during {operation}, above the"
            f" {self._watch.limit_mb:,.0f} MB that this machine can give it",
        )

    def _check_time(self, said: str, limit_s: float, since_s: float) -> None:
        if time.monotonic() - since_s <= limit_s:
            return
        memory = self._memory()
        self.kill()
        raise overtime(f"{said} {limit_s:.0f} s", memory)

    def _understood(self, operation: str, line: bytes) -> Answer:
        try:
            answer = codec.loads(Answer, line.decode())
        except Exception as error:  # noqa: BLE001 (a person's code can write anything to any descriptor)
            raise self._babble(operation, type(error).__name__) from None
        if answer.number != self._asked:
            raise self._babble(operation, f"the answer to request {answer.number}, when {self._asked} was asked")
        return answer

    def _babble(self, operation: str, what: str) -> WorkerLost:
        self.kill()
        return WorkerLost(FailureKind.CRASH, f"the worker wrote what is no answer to {operation}: {what}")

    def _death(self, operation: str) -> WorkerLost:
        ended = self._ends_within(_GRACE_S)
        self.kill()
        words = worker_log.last_words(self._log_path, since_byte=self._log_began)
        return death(operation, self._popen.returncode if ended else None, self._memory(), words)

    def _memory(self) -> MemoryEvidence:
        now = oom_kills()
        kills = None if now is None or self._kernel_kills is None else now - self._kernel_kills
        return MemoryEvidence(kills, self._watch.seen_mb, self._watch.limit_mb, self._watch.was_close())

    def _has_ended(self) -> bool:
        """Whether the process has ended, without reaping it: until that its number and its group's are its own."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def _ends_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self._has_ended() and time.monotonic() < deadline:
            time.sleep(_TICK_S)
        return self._has_ended()

    def kill(self) -> None:
        """End the whole process group and reap it; then what left the group; once, since numbers are used again."""
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_DYING_S)
        self._channel.close()
        self._guard.finish()
        worker_log.trim(self._log_path)

    def close(self) -> None:
        """Let the process end by itself, then make sure of it."""
        if self._ended:
            return
        self._channel.hang_up()
        self._ends_within(_GRACE_S)
        self.kill()


def _size(log_path: Path) -> int:
    try:
        return log_path.stat().st_size
    except OSError:
        return 0


def _user_error(name: str, message: str) -> UserError:
    kind = getattr(errors, name, UserError)
    return kind(message) if isinstance(kind, type) and issubclass(kind, UserError) else UserError(message)
