"""Exceptions of a framework as kinds of failure."""

from __future__ import annotations

import pytest

from autotune.errors import TrialFault
from autotune.trial import FailureKind

pytestmark = pytest.mark.slow


def test_kinds_by_type_and_not_by_words() -> None:
    from tensorflow import errors

    from autotune.worker.child.faults import kind_of

    cases = {
        FailureKind.OOM: [MemoryError(), errors.ResourceExhaustedError(None, None, "no room")],
        FailureKind.UNSUPPORTED: [NotImplementedError("x"), errors.UnimplementedError(None, None, "x")],
        FailureKind.INVALID: [ValueError("out of memory"), errors.InternalError(None, None, "unimplemented")],
    }
    for kind, raised in cases.items():
        assert [kind_of(error)[0] for error in raised] == [kind] * len(raised)


def test_one_line_for_a_person() -> None:
    from autotune.worker.child.faults import kind_of

    assert kind_of(ValueError("first\nsecond")) == (FailureKind.INVALID, "ValueError: first")
    assert kind_of(KeyError()) == (FailureKind.INVALID, "KeyError: ")
    assert len(kind_of(ValueError("x" * 10_000))[1]) < 400
    assert kind_of(TrialFault("nan", "its own")) == (FailureKind.NAN, "its own")


def test_a_numeric_limit_of_the_operating_system_is_running_out_of_memory() -> None:
    """An allocation that the machine refuses at once, as against one that its OOM killer answers."""
    import numpy as np

    from autotune.worker.child.faults import kind_of

    with pytest.raises(MemoryError) as caught:
        np.empty(1 << 60, np.uint8)
    assert kind_of(caught.value)[0] is FailureKind.OOM
