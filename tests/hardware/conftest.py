"""The fake NVML driver, compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hardware import fake_driver


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    fake_driver.build(folder)
    return folder
