"""A real SQLite store, made once and copied for each test: its migrations take seconds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autotune.config.schema import Config
from autotune.tracking.uri import Store, store_in_force

# Deprecations inside MLflow 3.17 that are not ours to mend; everything else stays an error.
FILTERS = ("ignore:The ``noload`` loader strategy:DeprecationWarning",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let MLflow's own deprecations pass in this folder's tests."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for text in FILTERS:
                item.add_marker(pytest.mark.filterwarnings(text))


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """The sample study's configuration, with its outputs in a folder whose name has a space."""
    config = Config()
    config.model.name, config.data.name, config.hw.name = "cifar_mlp", "cifar10", "rtx3090"
    config.output.root = str(tmp_path / "the outputs")
    return config


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with MLflow's tables and no experiment of ours."""
    from autotune.tracking.store import prepare

    folder = tmp_path_factory.mktemp("template")
    file = folder / "mlflow.db"
    prepare(Store(f"sqlite:///{file}", str(folder / "mlartifacts")), "unused")
    return file


@pytest.fixture
def store(config: Config, empty_database: Path) -> Store:
    """The store in force for `config`, with its tables made."""
    store = store_in_force(config.tracking, Path(config.output.root), environ={})
    assert store.sqlite_file is not None
    store.sqlite_file.parent.mkdir()
    shutil.copyfile(empty_database, store.sqlite_file)
    return store


@pytest.fixture
def silent_server() -> str:
    """The address of a port on which nothing listens."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return f"http://someone:secret@127.0.0.1:{port}"
