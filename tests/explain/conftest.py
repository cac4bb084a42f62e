"""Builders of this folder may be named, and the global dtype policy is as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autotune.trust import trusting
from tests.framework import set_aside


@pytest.fixture(autouse=True)
def _trusted(request: pytest.FixtureRequest) -> Iterator[None]:
    with trusting(("tests",)):
        if request.node.get_closest_marker("slow") is None:
            yield
            return
        import keras

        set_aside()
        before = keras.config.dtype_policy()
        yield
        keras.config.set_dtype_policy(before)
