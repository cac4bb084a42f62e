"""The child's rooms, tried in this process: quicker than a worker, and a traceback shows where.

What needs the framework is marked slow; the rest is spared its import.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.framework import set_aside
from tests.worker import people


@pytest.fixture(autouse=True)
def _person(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A person's folder, and the global dtype policy as it was."""
    import sys

    if request.node.get_closest_marker("slow") is None:
        yield
        return
    import keras

    set_aside()
    people.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a person's folder is put on it, for good
    monkeypatch.delitem(sys.modules, "nets", raising=False)
    policy = keras.config.dtype_policy()
    yield
    keras.config.set_dtype_policy(policy)
    sys.modules.pop("nets", None)
