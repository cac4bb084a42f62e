"""What a configuration may have run by naming it: attacks on the list, with a file that must not appear."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune import trust
from autotune.config.compose import to_yaml_dict
from autotune.config.schema import Config
from autotune.config.train import CallbackConfig
from autotune.errors import ConfigError
from autotune.targets import resolve
from autotune.trust import BUILT_IN, CALLBACK, DATA, METRIC, MODEL, trusting

OWN = """
import functools, os, subprocess
from os import system
from pathlib import Path

def build(**keywords): ...
class Builder:
    def __call__(self): ...
instance = Builder()
shallow = functools.partial(build, depth=1)
disguised = functools.partial(os.system)
open_ = open
"""


@pytest.fixture(autouse=True)
def _nothing_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_granted", [])


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with a package that imports more than it defines."""
    package = tmp_path / "own_nets"
    package.mkdir()
    (package / "__init__.py").write_text("from own_nets.small import *\n", encoding="utf-8")
    (package / "small.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("own_nets", "own_nets.small"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "target",
    [
        "os.system",
        "builtins.eval",
        "builtins.exec",
        "subprocess.Popen",
        "importlib.import_module",
        "runpy.run_path",
        "autotune.cli.command.main",
        "autotune.targets.resolve",
        "autotune.trust.trusting",
        "autotune.models.os.system",
        "autotune.models.cifar.keras",
        "autotune.models.cifar.mlp.__call__",
        "autotune.models.__builtins__",
        "autotune.data.cifar10.load_release",
        "autotune.data.download.download",
        "keras.src.utils.io_utils.subprocess.call",
        "keras.utils.get_file",
        "keras.models.load_model",
        "keras.applications.ResNet50",
        "keras.callbacks.EarlyStopping",
        "tensorflow.io.write_file",
        "hydra.utils.instantiate",
    ],
)
def test_what_is_no_builder_is_refused_before_anything_is_imported(target: str) -> None:
    before = set(sys.modules)
    with pytest.raises(ConfigError, match=r"^model\._target_ must") as caught:
        resolve(target, MODEL)
    assert target in str(caught.value)
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    ("key", "target"),
    [
        (METRIC, "autotune.models.cifar.mlp"),
        (DATA, "autotune.worker.metrics.accuracy"),
        (CALLBACK, "a.b"),
        ("k", "a.b"),
    ],
)
def test_a_name_is_built_in_for_its_own_key_only(key: str, target: str) -> None:
    with pytest.raises(ConfigError):
        trust.require_trusted([(key, target)])


@pytest.mark.parametrize("name", ["ModelCheckpoint", "CSVLogger", "TensorBoard", "RemoteMonitor", "LambdaCallback"])
def test_callbacks_that_write_send_or_take_code_need_trust(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"add --trust keras\.callbacks\.{name} to the command line"):
        trust.require_trusted([(CALLBACK, f"keras.callbacks.{name}")])
    with trusting([f"keras.callbacks.{name}"]):
        trust.require_trusted([(CALLBACK, f"keras.callbacks.{name}")])


@pytest.mark.parametrize(
    ("key", "target"),
    sorted((key, target) for key, targets in BUILT_IN.items() if key != CALLBACK for target in targets),
)
@pytest.mark.slow
def test_everything_built_in_is_there(key: str, target: str) -> None:
    assert callable(resolve(target, key))


@pytest.mark.slow
@pytest.mark.parametrize("target", sorted(BUILT_IN[CALLBACK]))
def test_the_callbacks_are_there_and_can_be_made_from_plain_values(target: str) -> None:
    import keras

    assert isinstance(resolve(target, CALLBACK)(), keras.callbacks.Callback)


def test_a_trusted_package_is_found_and_only_while_it_is_trusted(own: Path) -> None:
    with trusting(["own_nets"]):
        for name in ("build", "Builder", "instance", "shallow"):
            assert callable(resolve(f"own_nets.small.{name}", MODEL))
    with pytest.raises(ConfigError, match=r"add --trust own_nets\.small\.build"):
        resolve("own_nets.small.build", MODEL)


@pytest.mark.parametrize(
    "target",
    [
        "own_nets.small.system",
        "own_nets.small.disguised",
        "own_nets.small.open_",
        "own_nets.small.Path",
        "own_nets.system",
    ],
)
def test_what_a_trusted_package_only_imports_is_not_trusted(own: Path, target: str) -> None:
    with trusting(["own_nets"]), pytest.raises(ConfigError, match=r"is defined in .*, and that is not trusted"):
        resolve(target, MODEL)
    with trusting([target]):
        assert callable(resolve(target, MODEL)), "unless it is trusted by its own name"


@pytest.mark.parametrize(
    "target",
    [
        "own_nets.small.os.system",
        "own_nets.small.subprocess.call",
        "own_nets.small.build.__globals__",
        "own_nets.__loader__",
        "own_nets.small.__builtins__",
        "own_netsx.build",
        "own_nets_evil.build",
        "OWN_NETS.build",
        "own_nets..build",
        ".own_nets.build",
        "own_nets.small.build()",
        "own_nets.small:build",
        "own_nets/small.build",
        "own_nets.small.build\n",
        "",
    ],
)
def test_tricks_with_names_below_a_trusted_package(own: Path, target: str) -> None:
    with trusting(["own_nets"]), pytest.raises(ConfigError, match=r"^model\._target_"):
        resolve(target, MODEL)


def test_trust_in_a_module_covers_what_its_package_defines(own: Path) -> None:
    with trusting(["own_nets"]):
        assert resolve("own_nets.build", MODEL).__module__ == "own_nets.small"
    with trusting(["own_nets.small"]), pytest.raises(ConfigError, match=r"own_nets\.build"):
        resolve("own_nets.build", MODEL)


def test_a_built_in_name_never_comes_from_the_working_directory(tmp_path: Path, monkeypatch) -> None:
    for top in ("autotune", "keras"):
        (tmp_path / top).mkdir()
        (tmp_path / top / "__init__.py").write_text(f"open({str(tmp_path / 'MARK')!r}, 'w')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    assert resolve("autotune.worker.metrics.accuracy", METRIC).__module__ == "autotune.worker.metrics"
    assert sys.path == before
    assert not (tmp_path / "MARK").exists()


def test_every_name_at_any_depth_is_seen() -> None:
    config = Config()
    config.model._target_ = "a.model"
    config.model.args = {"activation": {"_target_": "b.hidden", "more": [{"_target_": "c.deeper"}]}}
    config.data._target_ = "d.data"
    config.data.args = {"_target_": "e.flat"}
    config.constraint._target_ = "f.metric"
    config.train.callbacks = [CallbackConfig("g.one"), CallbackConfig("h.two", {"x": {"_target_": 7}})]
    found = trust.named_in(to_yaml_dict(config))
    targets = {target for _, target in found}
    assert {"a.model", "b.hidden", "c.deeper", "d.data", "e.flat", "f.metric", "g.one", "h.two", 7} == targets
    with pytest.raises(ConfigError, match="must be a dotted name"):
        trust.require_trusted(found)


def test_one_line_names_all_that_is_missing_and_the_flags_to_add() -> None:
    with pytest.raises(ConfigError) as caught:
        trust.require_trusted([(MODEL, "net.build"), (DATA, "net.load"), (DATA, "net.load")])
    assert str(caught.value) == (
        "model._target_ and data._target_ must name something built in or trusted, but got net.build and net.load; to"
        " have that code run, add --trust net.build --trust net.load to the command line"
    )


def test_a_misspelt_name_of_ours_has_the_right_one_beside_it() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'autotune\.models\.cifar\.mlp'\?"):
        trust.require_trusted([(MODEL, "autotune.models.cifar.mpl")])
    with trusting(["autotune"]), pytest.raises(ConfigError):
        trust.require_trusted([(MODEL, "autotune.cli.command.main")])


@pytest.mark.parametrize(
    "name", ["", "a b", "my_net.py;", "../my_net", "a,b", "my-net", "__main__", "os.__dict__", "."]
)
def test_what_the_flag_does_not_take(name: str) -> None:
    with pytest.raises(ConfigError, match="--trust takes one dotted name"):
        trust.checked(name)


def test_the_flag_is_not_for_this_package() -> None:
    for name in ("autotune", "autotune.cli"):
        with pytest.raises(ConfigError, match="for other packages"):
            trust.checked(name)


def test_trust_ends_with_its_block_also_after_an_error() -> None:
    def fail() -> None:
        with trusting(["a"]), trusting(["b.c"]):
            assert trust.granted() == ("a", "b.c")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert trust.granted() == ()


def test_a_partial_is_where_its_function_is() -> None:
    twice = functools.partial(functools.partial(eval), "1")
    with trusting(["tests"]), pytest.raises(ConfigError, match="defined in builtins"):
        trust.require_defined_within(twice, "tests.made.twice", MODEL)
