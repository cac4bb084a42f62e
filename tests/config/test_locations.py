from __future__ import annotations

import pytest

from autotune.config.locations import check_output, make_absolute
from autotune.config.schema import Config
from autotune.errors import ConfigError


def absolute(tmp_path, **changes) -> Config:
    config = Config()
    for key, value in changes.items():
        group, _, name = key.partition("__")
        setattr(getattr(config, group), name, value)
    make_absolute(config, tmp_path)
    return config


def test_paths_start_from_the_folder_that_was_given(tmp_path):
    config = absolute(
        tmp_path,
        output__root="out/../runs",
        data__dir="images",
        data__args={"path": "a.npz", "side": 28},
    )
    assert config.output.root == str(tmp_path / "runs")
    assert config.data.dir == str(tmp_path / "images")
    assert config.data.args == {"path": str(tmp_path / "a.npz"), "side": 28}


def test_a_home_folder_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert absolute(tmp_path, data__dir="~/images").data.dir == str(tmp_path / "home" / "images")


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        (None, None),
        ("sqlite:///store.db", "sqlite:///{tmp}/store.db"),
        ("sqlite:///./a/store.db?timeout=30", "sqlite:///{tmp}/a/store.db?timeout=30"),
        ("sqlite+pysqlite:///store.db", "sqlite+pysqlite:///{tmp}/store.db"),
        ("sqlite:////srv/store.db", "sqlite:////srv/store.db"),
        ("http://tracking.example:5000", "http://tracking.example:5000"),
        ("postgresql://user@host/db", "postgresql://user@host/db"),
    ],
)
def test_an_sqlite_store_is_a_path_and_a_server_is_none(tmp_path, uri, expected):
    config = absolute(tmp_path, tracking__uri=uri)
    assert config.tracking.uri == (expected and expected.format(tmp=tmp_path))


def test_an_empty_path_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="must not be empty"):
        absolute(tmp_path, output__root=" ")


def test_an_output_root_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    for root in ("file", "file/below"):
        with pytest.raises(ConfigError, match=r"output\.root must be a folder"):
            check_output(absolute(tmp_path, output__root=root))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b"])
def test_an_output_name_is_one_plain_name(tmp_path, name):
    with pytest.raises(ConfigError, match=r"output\.name"):
        check_output(absolute(tmp_path, output__root=".", output__name=name))


def test_a_named_output_folder_must_be_new(tmp_path):
    (tmp_path / "first").mkdir()
    check_output(absolute(tmp_path, output__root=".", output__name="second"))
    with pytest.raises(ConfigError, match="exists"):
        check_output(absolute(tmp_path, output__root=".", output__name="first"))


@pytest.mark.parametrize("path", ["two\nlines", "bell\a"])
def test_a_path_is_one_printable_line(tmp_path, path):
    with pytest.raises(ConfigError, match="one line of printable characters"):
        absolute(tmp_path, output__root=path)


def test_an_unknown_home_folder_is_named(tmp_path):
    with pytest.raises(ConfigError, match="unknown home folder, but got '~no-such-person/x'"):
        absolute(tmp_path, output__root="~no-such-person/x")


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "/etc", "a/b", "a\\b", "nul\0", "two\nlines", "x" * 256, "模" * 100, "file", "dangling"],
)
def test_the_folders_name_leads_nowhere_else(tmp_path, name):
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("/nonexistent/place")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ConfigError, match=r"^output\.name must be"):
        check_output(absolute(tmp_path, output__root=str(tmp_path), output__name=name))
    assert sorted(tmp_path.iterdir()) == before
