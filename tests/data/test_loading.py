from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autotune.config.data import DataConfig, OnUnavailable
from autotune.data import load
from autotune.errors import ConfigError, DataError
from autotune.targets import resolve
from autotune.trust import trusting

SOURCE = """
import numpy as np

def arrays(seed, count=100):
    rng = np.random.default_rng(seed)
    return rng.random((count, 3)), np.arange(count) % 2

def plain(*, seed, count=100):
    return arrays(seed, count), arrays(seed + 1, 20)

def asked(*, seed, dir, download, download_timeout_s, on_unavailable):
    print("got", seed, dir, download, download_timeout_s, repr(on_unavailable))
    return plain(seed=seed)

def everything(**keywords):
    print("got", sorted(keywords))
    return plain(seed=keywords["seed"])

def without_seed(count=3):
    return plain(seed=0)

def failing(*, seed):
    raise FileNotFoundError("my.bin is\\nnot here")

class Source:
    def __call__(self, *, seed):
        return plain(seed=seed)

instance = Source()
number = 3
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """A working directory with SOURCE as a module of its own name, which the person trusts; gives that name."""
    name = f"source_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with trusting([name]):
        yield name


def config(target: str, **changes: Any) -> DataConfig:
    return DataConfig(**{"name": "mine", "_target_": target, "validation_examples": 10} | changes)


def test_a_persons_own_source_in_the_working_directory(here: str) -> None:
    dataset = load(config(f"{here}.plain", args={"count": 60}, split_seed=4))
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (50, 10, 20)
    other = load(config(f"{here}.plain", args={"count": 60}, split_seed=5))
    assert other.fingerprint != dataset.fingerprint


def test_any_callable_is_a_source(here: str) -> None:
    assert load(config(f"{here}.instance")).num_classes == 2


def test_a_source_gets_what_it_declares(here: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {
        "dir": "/some/where",
        "download": False,
        "download_timeout_s": 2.0,
        "on_unavailable": OnUnavailable.error,
    }
    load(config(f"{here}.asked", split_seed=7, **settings))
    assert capsys.readouterr().out == "got 7 /some/where False 2.0 'error'\n"
    load(config(f"{here}.everything", args={"more": 1}))
    assert "'dir', 'download', 'download_timeout_s', 'more'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "changes", "complaint"),
    [
        ("plain", {"args": {"cuont": 3}}, "unexpected keyword argument 'cuont'; it takes count"),
        ("asked", {"args": {"seed": 3}}, "data.args must not hold 'seed'"),
        ("plain", {"dir": "x"}, "data.dir is set, but the source .* takes no dir"),
        ("without_seed", {}, "must take the keyword argument seed, but takes count"),
        ("plian", {}, r"has no 'plian'; did you mean source_\d+\.plain\?"),
        ("number", {}, "must name a callable, but .* is int"),
    ],
)
def test_a_source_that_cannot_be_called(here: str, function: str, changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        load(config(f"{here}.{function}", **changes))
    assert "\n" not in str(caught.value)


def test_a_source_that_fails_is_one_line_with_its_cause(here: str) -> None:
    with pytest.raises(DataError, match=r"FileNotFoundError: my\.bin is not here") as caught:
        load(config(f"{here}.failing"))
    assert isinstance(caught.value.__cause__, FileNotFoundError)


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("load", "must be a dotted name"),
        ("no such.thing", "must be a dotted name"),
        ("a..b", "must be a dotted name"),
        ("no_such_module.load", "there is no module 'no_such_module'"),
        ("autotune.data.cifra10.load", r"Did you mean 'autotune\.data\.cifar10\.load'"),
        ("json.decoder.load.deeper", r"there is no module 'json\.decoder\.load'"),
    ],
)
def test_a_target_that_is_none(target: str, complaint: str) -> None:
    with trusting(["no_such_module", "json"]), pytest.raises(ConfigError, match=complaint):
        resolve(target, "data._target_")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("import no_such_dependency", "it needs the module 'no_such_dependency'"),
        ("1 / 0", "ZeroDivisionError"),
        ("def broken(:", "SyntaxError"),
    ],
)
def test_a_module_that_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "broken_source.py").write_text(content)
    with trusting(["broken_source"]), pytest.raises(ConfigError, match=complaint):
        resolve("broken_source.load", "data._target_")


def test_a_persons_packages_and_ours_do_not_shadow_each_other(tmp_path: Path) -> None:
    """In a process of its own: packages called data, models and autotune in the directory."""
    for package in ("data", "models", "autotune", "sklearn"):
        folder = tmp_path / package
        folder.mkdir()
        (folder / "__init__.py").write_text("def load(*, seed): return 'the person'\n")
    (tmp_path / "numpy.py").write_text("raise SystemExit('shadowed')\n")
    code = """
        from autotune.targets import resolve
        from autotune.trust import trusting
        with trusting(["data", "models"]):
            print(*(resolve(f"{name}.load", "data._target_")(seed=0) for name in ("data", "models")))
            ours = resolve("autotune.data.digits.load", "data._target_")(seed=0)
        print(type(ours).__module__)
    """
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "the person the person\nautotune.data.dataset\n", done.stderr
