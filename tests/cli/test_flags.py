from __future__ import annotations

import pytest

from autotune.cli.flags import override_key, parse
from autotune.errors import ConfigError


def test_flags_may_stand_anywhere(tmp_path):
    command = parse(["hydra/launcher=basic", "-m", "model=a,b", "--config-dir", str(tmp_path), "seed=1"])
    assert command.flags == ("--multirun", "--config-dir", str(tmp_path))
    assert command.overrides == ("hydra/launcher=basic", "model=a,b", "seed=1")
    assert command.multirun
    assert command.runs


def test_nothing_asked_is_a_run():
    assert parse([]).runs


@pytest.mark.parametrize("flag", ["--help", "--hydra-help", "--cfg=job", "--info", "-sc"])
def test_flags_that_print_do_not_run(flag):
    assert not parse([flag]).runs


def test_info_does_not_swallow_an_override():
    command = parse(["--info", "model=a"])
    assert (command.flags, command.overrides) == (("--info", "all"), ("model=a",))
    assert parse(["-i", "searchpath"]).flags == ("--info", "searchpath")


def test_a_relative_config_dir_becomes_absolute(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse(["-cd", "mine"]).config_dir == tmp_path / "mine"


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("a.b=1", "a.b"),
        ("+a=1", "a"),
        ("++a=1", "a"),
        ("~a", "a"),
        ("a=b=c", "a"),
        ("a", "a"),
        ("", ""),
    ],
)
def test_the_key_of_an_override(override, key):
    assert override_key(override) == key


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--hlep"], "Did you mean '--help'"),
        (["--config-dir"], "expected one argument"),
        (["--config-dir", "nowhere"], "must be a folder"),
        (["--config-dir", "x" * 5000], "File name too long"),
        (["--cfg", "jbo"], "invalid choice: 'jbo'"),
        (["--multirun", "--cfg", "job"], "exclude each other"),
        (["--resolve"], "belongs to --cfg"),
        (["--config-path", "x"], "--config-dir adds"),
        (["-cp", "x"], "--config-dir adds"),
        (["a=1", "a=2"], "given twice"),
        (["a=1", "+a=2"], "given twice"),
    ],
)
def test_mistakes(argv, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as error:
        parse(argv)
    assert said in str(error.value)
