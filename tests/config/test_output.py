from __future__ import annotations

import multiprocessing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autotune.config.output import claim_output_dir, safe_name
from autotune.config.schema import Config
from autotune.errors import ConfigError

NOW = datetime(2026, 3, 1, 9, 5, 7, tzinfo=UTC)


def config_in(root: Path, name: str | None = None) -> Config:
    config = Config()
    config.output.root, config.output.name = str(root), name
    return config


def claim(root: Path) -> str:
    return str(claim_output_dir(config_in(root), NOW, "net", "auto"))


def test_the_folder_says_when_what_and_for_which_target(tmp_path):
    folder = claim_output_dir(config_in(tmp_path / "runs"), NOW, "cifar_mlp", "rtx2060")
    assert folder == tmp_path / "runs" / "2026-03-01" / "09-05-07_cifar_mlp_rtx2060"
    assert folder.is_dir()


def test_a_second_run_in_the_same_second_gets_another(tmp_path):
    assert [Path(claim(tmp_path)).name for _ in range(3)] == [
        "09-05-07_net_auto",
        "09-05-07_net_auto_2",
        "09-05-07_net_auto_3",
    ]


@pytest.mark.slow
def test_processes_that_start_at_once_get_different_folders(tmp_path):
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        folders = pool.map(claim, [tmp_path] * 40, chunksize=1)
    assert len(set(folders)) == 40


def test_a_named_folder_is_claimed_once(tmp_path):
    config = config_in(tmp_path / "runs", "mine")
    assert claim_output_dir(config, NOW, "net", "auto") == tmp_path / "runs" / "mine"
    with pytest.raises(ConfigError, match="exists"):
        claim_output_dir(config, NOW, "net", "auto")


def test_a_root_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match=r"output\.root .* but got .*file"):
        claim(tmp_path / "file" / "below")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rtx2060", "rtx2060"),
        ("a:b c/d\\e", "a-b-c-d-e"),
        ("../../etc", "etc"),
        ("???", "unnamed"),
        ("x" * 200, "x" * 60),
        ("größe", "größe"),
        ("模" * 200, "模" * 33),
        ("a\0b\x1b[31m\n", "a-b-31m"),
        ("=cmd|' /C calc'!A0", "cmd-C-calc-A0"),
        ("..", "unnamed"),
        ("-rf", "rf"),
    ],
)
def test_names_are_safe_in_any_file_system(text, expected):
    assert safe_name(text) == expected


def test_names_of_any_length_make_a_folder(tmp_path):
    folder = claim_output_dir(config_in(tmp_path), NOW, "模" * 300, "ü" * 300)
    assert folder.is_dir()
    assert folder.parent == tmp_path / "2026-03-01"
