"""When a request is worth asking once more, in a fresh worker. Pure."""

from __future__ import annotations

import signal

from autotune.errors import TrialFault
from autotune.trial import FailureKind
from autotune.worker.fate import WorkerLost

# A study in which so many second tries in a row have failed too pays for no more of them.
MOST_FRUITLESS = 3

# The instruction, the system call or the arithmetic is at fault, and is the same the next time.
_REPEATABLE = frozenset({signal.SIGILL, signal.SIGSYS, signal.SIGFPE, signal.SIGTRAP})


def worth_another_try(fault: TrialFault, fruitless: int) -> bool:
    """Whether a fresh worker may succeed where this one failed; a second time is not asked about.

    Only a crash may be chance: a kill by somebody, a device that failed. A lack of memory, of an operation or of time,
    and what a person's own code raises or exits with, come again.

    Args:
        fault: why there is no answer.
        fruitless: second tries in a row that have failed too, whatever they were for.
    """
    if fault.kind != FailureKind.CRASH or fruitless >= MOST_FRUITLESS:
        return False
    if isinstance(fault, WorkerLost):
        return fault.status is None and fault.signal_number not in _REPEATABLE
    return True


def told_twice(fault: TrialFault, first: TrialFault) -> TrialFault:
    """The fault of the second try, which says that there was a first."""
    said = "so did a first try" if fault.message == first.message else f"at a first try: {first.message}"
    return TrialFault(fault.kind, f"{fault.message} ({said})", fault.detail)
