"""What a worker died of: its status, and what is known of memory, as a typed failure. Pure."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from autotune.errors import TrialFault
from autotune.trial import FailureKind

# Signals that running out of memory can end in: the kernel's killer, an allocation that failed and was used all the
# same, one that a library gave up over, a page of shared memory that nobody could supply.
_OF_MEMORY = frozenset({signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS})

# A shell, or a wrapper around the interpreter, tells a death by signal n as status 128 + n.
_SHELL = 128


class WorkerLost(TrialFault):
    """The worker's process has ended, or what it says is no answer, so that it had to be ended.

    Args:
        signal_number: the signal that it died of, if it did so by itself.
        status: what it ended with, if it ended by itself and by no signal.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        detail: str = "",
        signal_number: int | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(kind, message, detail)
        self.signal_number = signal_number
        self.status = status


@dataclass(frozen=True, slots=True)
class MemoryEvidence:
    """What is known of memory at a death.

    Attributes:
        kernel_kills: processes that the kernel's out-of-memory killer ended here in the worker's time; None: unknown.
        seen_mb: size of the worker and all that it started, when last looked at [MB].
        limit_mb: what they may take [MB]; None: not known.
        close: whether the one was close to the other.
    """

    kernel_kills: int | None = None
    seen_mb: float = 0.0
    limit_mb: float | None = None
    close: bool = False


def death(operation: str, returncode: int | None, memory: MemoryEvidence, last_words: str = "") -> WorkerLost:
    """Why a worker is gone.

    Args:
        operation: what it was asked for.
        returncode: as `subprocess` tells it; None if it lives and has only closed its pipe.
        memory: what is known of it.
        last_words: what it printed last.
    """
    if returncode is None:
        return WorkerLost(FailureKind.CRASH, f"the worker closed its pipe during {operation}", last_words)
    number = -returncode if returncode < 0 else returncode - _SHELL if _is_signal(returncode - _SHELL) else None
    if number is None:
        said = f"the worker ended with status {returncode} during {operation}"
        return WorkerLost(FailureKind.CRASH, said, last_words, status=returncode)
    said = f"the worker died of {signal_name(number)} during {operation}"
    reason = _of_memory(number, memory)
    if reason is not None:
        return WorkerLost(FailureKind.OOM, f"{said}: {reason}", last_words, number)
    return WorkerLost(FailureKind.CRASH, said + _kill_hint(number, memory), last_words, number)


def overtime(said: str, memory: MemoryEvidence) -> WorkerLost:
    """Why a worker had to be ended at a time limit.

    A pipeline that waits for a process of its own, which the kernel has ended for want of memory, waits for ever.
    """
    if memory.kernel_kills:
        reason = "after the kernel's out-of-memory killer had ended a process here"
        return WorkerLost(FailureKind.OOM, f"{said}, {reason}")
    return WorkerLost(FailureKind.TIMEOUT, f"{said}; search.trial_timeout_s raises it")


def signal_name(number: int) -> str:
    """`SIGSEGV`; real-time signals have no name but `signal 40`."""
    return signal.Signals(number).name if _is_signal(number) else f"signal {number}"


def _is_signal(number: int) -> bool:
    return number in {int(known) for known in signal.Signals}


def _of_memory(number: int, memory: MemoryEvidence) -> str | None:
    if number == signal.SIGKILL and memory.kernel_kills:
        return "the kernel's out-of-memory killer ended it"
    if number in _OF_MEMORY and memory.close and memory.limit_mb is not None:
        return f"it had {memory.seen_mb:,.0f} MB of the {memory.limit_mb:,.0f} MB that this machine can give it"
    return None


def _kill_hint(number: int, memory: MemoryEvidence) -> str:
    if number != signal.SIGKILL:
        return ""
    if memory.kernel_kills is None:
        return " (often the kernel's answer to memory running out)"
    return " (not by the kernel's out-of-memory killer, which counts none here)"
