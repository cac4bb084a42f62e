"""Exceptions as failure kinds, by their type: no text is searched for words."""

from __future__ import annotations

from autotune.errors import TrialFault
from autotune.trial import FailureKind


def kind_of(error: BaseException) -> tuple[FailureKind, str]:
    """The failure kind of an exception and one line for a person."""
    if isinstance(error, TrialFault):
        return FailureKind(error.kind), error.message
    from tensorflow import errors

    first = str(error).strip().split("\n")[0][:300]
    message = f"{type(error).__name__}: {first}"
    if isinstance(error, (errors.ResourceExhaustedError, MemoryError)):
        return FailureKind.OOM, message
    if isinstance(error, (errors.UnimplementedError, NotImplementedError)):
        return FailureKind.UNSUPPORTED, message
    return FailureKind.INVALID, message
