"""A cache that is not the person's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def keras_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The `datasets` folder of an empty Keras cache; it does not exist yet."""
    home = tmp_path / "keras_home"
    monkeypatch.setenv("KERAS_HOME", str(home))
    return home / "datasets"
