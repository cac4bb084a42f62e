"""Composition through the real command line, up to the door of the pipeline."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from autotune.cli.command import main
from autotune.config.schema import Config

Compose = Callable[..., Config]


@pytest.fixture
def compose(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Compose:
    """`compose("model=digits_mlp")` is the configuration that the pipeline would be given."""
    received: list[Config] = []
    pipeline = ModuleType("autotune.pipeline")
    pipeline.run = lambda config: received.append(config) or 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "autotune.pipeline", pipeline)
    monkeypatch.chdir(tmp_path)

    def composed(*arguments: str) -> Config:
        assert main(arguments) == 0, capsys.readouterr().err
        return received.pop()

    return composed
