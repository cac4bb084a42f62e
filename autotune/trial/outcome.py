"""Where something happened, what became of a trial, and why one has no result."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class FailureKind(enum.StrEnum):
    """Why a trial has no result."""

    OOM = "oom"
    NAN = "nan"
    COMPILE = "compile"
    TIMEOUT = "timeout"
    CRASH = "crash"
    INVALID = "invalid"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Failure:
    """A typed reason why something has no result."""

    kind: FailureKind
    message: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.message}"


class Stage(enum.StrEnum):
    """Where in a study something happened."""

    BASELINE = "baseline"
    SCREEN = "screen"
    VERIFY = "verify"
    CONFIRM = "confirm"
    EXPORT = "export"


class TrialState(enum.StrEnum):
    """What has become of a trial; every state but SCREENED is final."""

    SCREENED = "screened"
    PASSED = "passed"  # went through the accuracy gate of the verify stage
    REJECTED = "rejected"  # trained and missed the accuracy gate
    DOMINATED = "dominated"  # slower than one that passed: it was not worth training
    SKIPPED = "skipped"  # might be faster, but was not trained for the reason given
    SLOWER = "slower"  # not faster than the baseline: nothing to verify
    FAILED = "failed"  # has no result; see its failure
