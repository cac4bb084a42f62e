"""Why a worker is gone, from its status and what is known of memory."""

from __future__ import annotations

import signal

import pytest

from autotune.trial import FailureKind
from autotune.worker.fate import MemoryEvidence, death, overtime

UNKNOWN = MemoryEvidence()
KERNEL_KILLED = MemoryEvidence(kernel_kills=1)
NONE_KILLED = MemoryEvidence(kernel_kills=0)
CLOSE = MemoryEvidence(0, 950.0, 1000.0, close=True)
FAR = MemoryEvidence(0, 400.0, 1000.0, close=False)


@pytest.mark.parametrize(
    ("returncode", "memory", "kind", "said"),
    [
        (
            -9,
            KERNEL_KILLED,
            FailureKind.OOM,
            "SIGKILL during probe: the kernel's out-of-memory killer ended it",
        ),
        (
            137,
            KERNEL_KILLED,
            FailureKind.OOM,
            "SIGKILL during probe: the kernel's out-of-memory killer ended it",
        ),
        (-9, NONE_KILLED, FailureKind.CRASH, "died of SIGKILL during probe (not by the kernel's out-of-memory killer"),
        (-9, UNKNOWN, FailureKind.CRASH, "SIGKILL during probe (often the kernel's answer to memory running out)"),
        (
            -9,
            CLOSE,
            FailureKind.OOM,
            "probe: it had 950 MB of the 1,000 MB that this machine can give it",
        ),
        (-9, FAR, FailureKind.CRASH, "died of SIGKILL"),
        (-11, CLOSE, FailureKind.OOM, "SIGSEGV during probe: it had 950 MB"),
        (-6, CLOSE, FailureKind.OOM, "SIGABRT during probe: it had 950 MB"),
        (-7, CLOSE, FailureKind.OOM, "SIGBUS during probe: it had 950 MB"),
        (-11, FAR, FailureKind.CRASH, "the worker died of SIGSEGV during probe"),
        (-11, KERNEL_KILLED, FailureKind.CRASH, "the worker died of SIGSEGV during probe"),
        (-15, CLOSE, FailureKind.CRASH, "the worker died of SIGTERM during probe"),
        (139, FAR, FailureKind.CRASH, "the worker died of SIGSEGV during probe"),
        (-40, UNKNOWN, FailureKind.CRASH, "the worker died of signal 40 during probe"),
        (-1000, UNKNOWN, FailureKind.CRASH, "the worker died of signal 1000 during probe"),
        (0, UNKNOWN, FailureKind.CRASH, "the worker ended with status 0 during probe"),
        (1, CLOSE, FailureKind.CRASH, "the worker ended with status 1 during probe"),
        (255, UNKNOWN, FailureKind.CRASH, "the worker ended with status 255 during probe"),
        (None, UNKNOWN, FailureKind.CRASH, "the worker closed its pipe during probe"),
    ],
)
def test_a_death_is_typed_by_its_status_and_evidence(
    returncode: int | None, memory: MemoryEvidence, kind: FailureKind, said: str
) -> None:
    fault = death("probe", returncode, memory, "its last words")
    assert (fault.kind, fault.detail) == (kind, "its last words")
    assert said in fault.message


def test_what_it_died_of_is_kept_for_the_rule_of_second_tries() -> None:
    assert (death("probe", 139, FAR).signal_number, death("probe", -11, FAR).status) == (signal.SIGSEGV, None)
    assert (death("probe", 7, FAR).signal_number, death("probe", 7, FAR).status) == (None, 7)


def test_a_wait_for_what_the_kernel_has_killed_is_a_lack_of_memory() -> None:
    late = overtime("train ran past its time limit", NONE_KILLED)
    assert (late.kind, late.message) == (
        FailureKind.TIMEOUT,
        "train ran past its time limit; search.trial_timeout_s raises it",
    )
    assert overtime("train ran past its time limit", KERNEL_KILLED).kind is FailureKind.OOM
