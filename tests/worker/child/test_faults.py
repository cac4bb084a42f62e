"""Exceptions of a framework as kinds of failure."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from autotune.errors import TrialFault
from autotune.trial import FailureKind
from autotune.worker.child.faults import failure_of, kind_of


@pytest.mark.slow
def test_kinds_by_type_and_not_by_words() -> None:
    from tensorflow import errors

    cases = {
        FailureKind.OOM: [MemoryError(), errors.ResourceExhaustedError(None, None, "no room")],
        FailureKind.UNSUPPORTED: [NotImplementedError("x"), errors.UnimplementedError(None, None, "x")],
        FailureKind.INVALID: [ValueError("out of memory"), errors.InvalidArgumentError(None, None, "unimplemented")],
        FailureKind.CRASH: [
            errors.InternalError(None, None, "out of memory"),
            errors.UnavailableError(None, None, "x"),
            errors.AbortedError(None, None, "x"),
        ],
        FailureKind.TIMEOUT: [errors.DeadlineExceededError(None, None, "x"), TimeoutError("x")],
        FailureKind.NAN: [FloatingPointError("x")],
    }
    for kind, raised in cases.items():
        assert [kind_of(error)[0] for error in raised] == [kind] * len(raised)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_not_taken_for_full_memory() -> None:
    """TensorFlow gives both one code; this is what it really says of a disk."""
    import tensorflow as tf

    with pytest.raises(tf.errors.ResourceExhaustedError) as full:
        tf.io.write_file("/dev/full", "x" * 10_000_000)
    kind, message = kind_of(full.value)
    assert kind is FailureKind.INVALID
    assert "No space left on device" in message


def test_one_line_for_a_person() -> None:
    assert kind_of(ValueError("first\nsecond")) == (FailureKind.INVALID, "ValueError: first")
    keras_says = "Exception encountered when calling Bad.call().\n\n\x1b[1mno such axis\x1b[0m\n\nArguments received"
    assert kind_of(ValueError(keras_says))[1].endswith("Bad.call(). \x1b[1mno such axis\x1b[0m")
    graph_says = "Graph execution error:\n\nDetected at node f defined at:\n  File x\nall is lost\n\t [[{{node f}}]]"
    assert kind_of(ValueError(graph_says))[1] == "ValueError: Graph execution error: all is lost"
    assert kind_of(KeyError()) == (FailureKind.INVALID, "KeyError: ")
    assert len(kind_of(ValueError("x" * 10_000))[1]) < 400
    assert kind_of(TrialFault("nan", "its own")) == (FailureKind.NAN, "its own")


def test_a_numeric_limit_of_the_operating_system_is_running_out_of_memory() -> None:
    """An allocation that the machine refuses at once, as against one that its OOM killer answers."""
    import numpy as np

    with pytest.raises(MemoryError) as caught:
        np.empty(1 << 60, np.uint8)
    assert kind_of(caught.value)[0] is FailureKind.OOM


def test_what_an_exception_was_made_from_tells_where_it_does_not_itself() -> None:
    """A person's own code, and Keras, wrap what they catch."""
    wrapped = RuntimeError("the layer failed")
    wrapped.__cause__ = ValueError("in between")
    wrapped.__cause__.__context__ = MemoryError()
    assert kind_of(wrapped) == (FailureKind.OOM, "RuntimeError: the layer failed")
    hidden = RuntimeError("something else")
    hidden.__context__, hidden.__suppress_context__ = MemoryError(), True
    assert kind_of(hidden)[0] is FailureKind.INVALID
    in_a_circle = RuntimeError("x")
    in_a_circle.__cause__ = ValueError("y")
    in_a_circle.__cause__.__cause__ = in_a_circle
    assert kind_of(in_a_circle)[0] is FailureKind.INVALID


def test_an_error_of_the_system_by_its_number() -> None:
    assert kind_of(OSError(errno.ENOMEM, "text"))[0] is FailureKind.OOM
    assert kind_of(OSError(errno.ENOSPC, "Cannot allocate memory"))[0] is FailureKind.INVALID


def test_a_failure_can_be_made_of_any_exception() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    class Exhausted(Exception):
        def __str__(self) -> str:
            raise MemoryError

    assert failure_of(Silent()).message == "Silent: (its text cannot be made)"
    assert failure_of(Exhausted()).kind in (FailureKind.INVALID, FailureKind.OOM)
    surrogate = failure_of(TrialFault(FailureKind.NAN, "a\udcff", "b\udcff"))
    assert (surrogate.message, surrogate.detail) == ("a?", "b?")
