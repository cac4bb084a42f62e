"""A folder of files as somebody may have sent it, and what of it reaches the pipeline."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from autotune.config.schema import Config


def received_from(files: Mapping[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Write the files and work in their folder; the list gets each configuration that would have been run."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    received: list[Config] = []
    pipeline = ModuleType("autotune.pipeline")
    pipeline.run = lambda config: received.append(config) or 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "autotune.pipeline", pipeline)
    monkeypatch.chdir(folder)
    return received
