"""Exit statuses, in one place, and what several jobs amount to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FASTER = 0
FAULT = 1
USER_ERROR = 2
NOT_FASTER = 3
INTERRUPTED = 130  # 128 + SIGINT, as shells have it

# From best to worst; a status that is not listed is a fault.
_ORDER = (FASTER, NOT_FASTER, USER_ERROR, FAULT, INTERRUPTED)
_MEANING = {
    FASTER: "done",
    NOT_FASTER: "none beat the float32 baseline",
    USER_ERROR: "a mistake in what was asked for",
    FAULT: "a fault",
    INTERRUPTED: "interrupted",
}


@dataclass(frozen=True, slots=True)
class JobResult:
    """How one job of a multirun ended.

    Attributes:
        name: `job 0` and so on; empty for a single run.
        overrides: what distinguishes it.
        status: its exit status.
    """

    name: str
    overrides: str
    status: int


def worst(statuses: Iterable[int]) -> int:
    """The exit status of several jobs; a fault if no job has reported one."""
    known = [status if status in _ORDER else FAULT for status in statuses]
    return max(known, key=_ORDER.index, default=FAULT)


def summary(results: Sequence[JobResult]) -> str:
    """One line a job."""
    lines = [
        f"{result.name}: {_MEANING.get(result.status, 'a fault')} ({result.status}): {result.overrides}"
        for result in results
    ]
    return "\n" + "\n".join(lines) + "\n"
