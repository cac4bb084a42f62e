"""Whose configuration files were read."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from hydra._internal.utils import create_config_search_path

from autotune.cli.repository import Repository, stays_below
from autotune.config.compose import register_schema

BUILT_IN = "pkg://autotune.conf"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The built-in files and a folder with one more."""
    register_schema()
    (tmp_path / "mine.yaml").write_text("task: plan\n", encoding="utf-8")
    path = create_config_search_path(BUILT_IN)
    path.append("mine", f"file://{tmp_path}")
    return Repository(path, BUILT_IN)


def test_what_comes_with_hydra_and_with_us_is_not_foreign(repository: Repository) -> None:
    for name in ("config", "base", "model/cifar_mlp", "hydra/config", "hydra/launcher/basic", "autotune_schema"):
        assert repository.load_config(name) is not None, name
    assert repository.load_config("model/nowhere") is None
    assert repository.foreign == set()


@pytest.mark.parametrize("name", ["mine", "model/../config", "./model/../base"])
def test_all_else_is_and_a_copy_tells_it_too(name: str, repository: Repository) -> None:
    again = copy.deepcopy(repository)
    assert again.load_config(name) is not None
    assert repository.foreign == {name}


@pytest.mark.parametrize(
    ("name", "below"),
    [("model/cifar_mlp", True), ("a/../b", False), ("/a", False), ("a\\..\\b", False), ("c:/a", False), ("", True)],
)
def test_a_name_stays_below_the_place_where_it_is_looked_up(name: str, below: bool) -> None:
    assert stays_below(name) is below


def test_another_search_path_is_the_copys_alone(repository: Repository) -> None:
    again = copy.deepcopy(repository)
    again.initialize_sources(create_config_search_path(None))
    assert again.load_config("mine") is None
    assert repository.load_config("mine") is not None
