"""Where something happened, what became of a trial, and why one has no result."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class FailureKind(enum.StrEnum):
    """Why a trial has no result.

    Each is told from the type or code of an error, or from what became of the process; no text is searched for words.
    """

    OOM = "oom"  # memory of the device, of the host or of the container ran out
    NAN = "nan"  # a loss, a metric or an output is not finite, or the loss scale collapsed
    COMPILE = "compile"  # the step could not be compiled with XLA
    TIMEOUT = "timeout"  # it ran past its time limit, or gave no sign of life
    CRASH = "crash"  # the process or the device failed; the only kind that a second try may help
    INVALID = "invalid"  # the model, the data or a person's own code does not fit what was asked
    UNSUPPORTED = "unsupported"  # what was asked for does not exist here


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
