"""What a study promises under a fault, and how a row of the table of faults says so."""

from __future__ import annotations

from dataclasses import dataclass

SAME = "same answer"
"""The study ends, with its report, and has found what it finds without the fault."""

CANDIDATE = "costs its candidate"
"""The study ends, with its report; the candidate has failed, with the type that is said, and no other has."""

ONE_LINE = "one line"
"""Exit status 1 or 2 and one line on standard error; nothing that was there before has changed."""

RESUMES = "resumes"
"""The study has ended with the exit status and the line that are said; the very command goes on, what was measured
stands, and it ends with the same answer."""

EXPORT = "costs the export"
"""The answer and the report stand, what is missing is said, and the very command makes up for it."""

LATER = "is sent later"
"""The study does not wait; the record is complete, and the store gets all of it when it is back."""


@dataclass(frozen=True)
class Row:
    """One fault at one stage, or at several that the same code stands behind.

    Attributes:
        made: how the test makes it.
        promise: one of those above, with what it is told as.
        tests: `file::function`, each of which holds the promise.
    """

    stage: str
    fault: str
    made: str
    promise: str
    tests: tuple[str, ...]


def row(stage: str, fault: str, made: str, promise: str, *tests: str) -> Row:
    """One of them."""
    return Row(stage, fault, made, promise, tests)
