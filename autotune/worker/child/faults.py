"""Exceptions as failures, by their type: no text is searched for words, but for the system's own of a full disk."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autotune.errors import TrialFault, UserError
from autotune.trial import Failure, FailureKind

_LONGEST_LINE = 300
_LONGEST_DETAIL = 4000

# What a disk says that takes no more, whoever is writing (errno(3)).
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


def failure_of(error: BaseException) -> Failure:
    """The failure that an exception is; made even where memory has run out or the exception cannot tell of itself."""
    if isinstance(error, TrialFault):
        return Failure(FailureKind(error.kind), _sendable(error.message), _sendable(error.detail))
    try:
        kind, message = kind_of(error)
        trace = "".join(traceback.format_exception(error))
        return Failure(kind, _sendable(message), _sendable(trace[-_LONGEST_DETAIL:]))
    except MemoryError:
        return Failure(FailureKind.OOM, type(error).__name__)


@contextmanager
def kept_at(path: Path) -> Iterator[None]:
    """Write a trained model into the run's folder: that its disk is full is no trial's fault, and ends the session.

    Raises:
        UserError: there is no room.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise UserError(
            f"the trained model cannot be kept at {path}: {error.strerror}; make room, then go on with"
            " study.resume=true"
        ) from error


def kind_of(error: BaseException) -> tuple[FailureKind, str]:
    """The failure kind of an exception and one line for a person.

    The first kind that tells counts, from the exception down to what caused it: Keras and a person's own code wrap what
    they catch.
    """
    if isinstance(error, TrialFault):
        return FailureKind(error.kind), error.message
    found = (kind for one in _causes(error) if (kind := _own_kind(one)) is not None)
    return next(found, FailureKind.INVALID), f"{type(error).__name__}: {_first_line(error)}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _own_kind(error: BaseException) -> FailureKind | None:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return FailureKind.OOM
    if isinstance(error, NotImplementedError):
        return FailureKind.UNSUPPORTED
    if isinstance(error, FloatingPointError):
        return FailureKind.NAN
    if isinstance(error, TimeoutError):
        return FailureKind.TIMEOUT
    return _kind_by_code(error)


def _kind_by_code(error: BaseException) -> FailureKind | None:
    """TensorFlow's own errors, by the code that each carries; they are what it makes of a device's and of XLA's."""
    if "tensorflow" not in sys.modules:  # then it is none of these, and importing it takes seconds
        return None
    from tensorflow import errors

    if not isinstance(error, errors.OpError):
        return None
    if any(os.strerror(number) in error.message for number in _NO_ROOM):
        return None  # a disk has run out of room, which has the code of memory that has
    kinds = {
        errors.RESOURCE_EXHAUSTED: FailureKind.OOM,
        errors.UNIMPLEMENTED: FailureKind.UNSUPPORTED,
        errors.DEADLINE_EXCEEDED: FailureKind.TIMEOUT,
        # The model is not at fault: the device or the framework has failed, after which neither is to be relied on.
        errors.INTERNAL: FailureKind.CRASH,
        errors.UNAVAILABLE: FailureKind.CRASH,
        errors.ABORTED: FailureKind.CRASH,
    }
    return kinds.get(error.error_code)


def _first_line(error: BaseException) -> str:
    """What it says first, and what that announces.

    TensorFlow begins with "Graph execution error:" and ends with the reason; Keras begins with the layer that was
    called, leaves a line empty, and says what happened in it.
    """
    try:
        lines = str(error).strip().split("\n")
    except Exception:  # noqa: BLE001 (a person's own exception class, whose text fails)
        return "(its text cannot be made)"
    told = [line.strip() for line in lines if line.strip() and not line.strip().startswith("[[")]
    if not told:
        return ""
    if told[0].endswith(":") and len(told) > 1:
        return f"{told[0]} {told[-1]}"[:_LONGEST_LINE]
    announced = len(told) > 1 and len(lines) > 1 and not lines[1].strip()
    return (f"{told[0]} {told[1]}" if announced else told[0])[:_LONGEST_LINE]


def _sendable(text: str) -> str:
    """Text that every stream and store takes: a lone surrogate, from a name that is not UTF-8, is not."""
    return text.encode("utf-8", "replace").decode()
