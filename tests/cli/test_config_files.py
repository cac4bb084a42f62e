from __future__ import annotations

import pytest
import yaml

from autotune.cli import config_files
from autotune.cli.config_files import check
from autotune.errors import ConfigError

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.fixture(params=["libyaml", "Python"])
def parser(request, monkeypatch):
    """With libyaml and without."""
    if request.param == "Python":
        monkeypatch.setattr(config_files, "_Parser", yaml.SafeLoader)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (LAUGHS.encode(), "more than 5,000 entries"),
        (b"a: &a [" + b"x, " * 2000 + b"]\nb: [*a, *a, *a]\n", "more than 5,000 entries"),
        (b"a: &a " + b"x" * 100_000 + b"\nb: [" + b"*a, " * 60 + b"]\n", "more than 5,000 entries"),
        (b"a: &a [*a]\n", "*a stands within what it names"),
        (b"a: &a {b: {c: *a}}\n", "*a stands within what it names"),
        (b"a: " + b"[" * 50 + b"]" * 50, "nested more than 40 deep"),
        (b"name: " + b"x" * 300_000, "at most 200,000 bytes, but got 300,006"),
        ("name: caf\xe9\n".encode("latin-1"), "UTF-8 text, but got"),
        (b"name: x\nwidths: [1, 2\n", "not valid YAML"),
        (b"name: [x\nwidths: 1\n", "line 2: not valid YAML"),
        (b"name: \x00\n", "not valid YAML"),
    ],
)
def test_what_is_refused(content, said, tmp_path, parser):
    file = tmp_path / "mine.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        check(file)
    assert str(error.value).startswith(str(file))
    assert said in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "# only a comment\n",
        "name: café\nargs: &args {a: [1, 2]}\nmore: {<<: *args, again: *args}\n",
        "a: " + "[" * 38 + "]" * 38,
        "".join(f"k{n}: {n}\n" for n in range(2400)),
    ],
)
def test_what_is_read(content, tmp_path, parser):
    file = tmp_path / "mine.yaml"
    file.write_text(content, encoding="utf-8")
    check(file)
