"""Configurations from elsewhere on the real command line: none runs code of its own accord."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from autotune import trust
from autotune.cli.command import main
from autotune.cli.trust import typed
from autotune.config.schema import Config
from tests.cli.received import received_from

MODULE = """
from pathlib import Path
Path("MARK").touch()

def build(**keywords): Path("MARK").touch()
def load(**keywords): Path("MARK").touch()
class Callback: ...
"""

FILES = {
    "gift.py": MODULE,
    "conf/model/gift.yaml": "name: gift\n_target_: gift.build\n",
    "conf/data/gift.yaml": "name: gift\n_target_: gift.load\n",
    "conf/constraint/gift.yaml": "metric: gift\n_target_: gift.score\n",
    "conf/train/gift.yaml": "callbacks: [{_target_: gift.Callback}]\n",
    "conf/train/checkpoint.yaml": "callbacks: [{_target_: keras.callbacks.ModelCheckpoint, args: {filepath: MARK}}]\n",
    "conf/train/stopping.yaml": "callbacks: [{_target_: keras.callbacks.EarlyStopping}]\n",
    "conf/model/inner.yaml": "name: inner\n_target_: autotune.models.cifar.mlp\nargs: {act: {_target_: gift.build}}\n",
    "conf/model/shell.yaml": "name: shell\n_target_: os.system\nargs: {command: touch MARK}\n",
    "conf/model/main.yaml": "name: main\n_target_: autotune.cli.command.main\n",
    "conf/model/refers.yaml": "name: gift.build\n_target_: ${model.name}\n",
    "conf/best.yaml": "defaults: [config, _self_]\ntask: train\nmodel: {name: gift, _target_: gift.build}\n",
    "conf/trust.yaml": "defaults: [config, _self_]\ntrust: [gift]\nmodel: {name: gift, _target_: gift.build}\n",
    "conf/argv.yaml": "defaults: [config, _self_]\nhydra: {overrides: {task: [model._target_=gift.build]}}\n",
}


@pytest.fixture
def configs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Config]:
    """A folder as somebody may have sent it, and what reached the pipeline."""
    monkeypatch.setattr(trust, "_granted", [])
    return received_from(FILES, tmp_path, monkeypatch)


REFUSED = [
    (("model=gift",), "model._target_", "--trust gift.build"),
    (("data=gift",), "data._target_", "--trust gift.load"),
    (("constraint=gift",), "constraint._target_", "--trust gift.score"),
    (("train=gift",), "train.callbacks._target_", "--trust gift.Callback"),
    (("train=checkpoint",), "train.callbacks._target_", "--trust keras.callbacks.ModelCheckpoint"),
    (("model=inner",), "model.args.act._target_", "--trust gift.build"),
    (("model=shell",), "model._target_", "--trust os.system"),
    (("model=main",), "model._target_", "autotune.models.cifar.mlp"),
    (("model=refers",), "model._target_", "--trust gift.build"),
    (("model=gift", "data=gift"), "model._target_ and data._target_", "--trust gift.build --trust gift.load"),
    (("model=gift", "task=train", "train.epochs=1"), "model._target_", "--trust gift.build"),
    (("model=gift", "task=promote"), "model._target_", "--trust gift.build"),
    (("model=gift", "task=plan"), "model._target_", "--trust gift.build"),
    (("--config-name", "best"), "model._target_", "--trust gift.build"),
    (("--config-name", "trust"), "trust", "there is no key 'trust'"),
    (("--config-name", "argv"), "hydra.overrides.task", "must not be set in a configuration file"),
    (("model=gift", "--trust", "gif"), "model._target_", "--trust gift.build"),
    (("model=gift", "--trust", "gift.load"), "model._target_", "--trust gift.build"),
    (("model=gift", "+trust=[gift]"), "trust", "there is no key 'trust'"),
    # A reference that is typed is not a name that is typed.
    (("model=gift", "data.name=gift.build", "model._target_=${data.name}"), "model._target_", "--trust gift.build"),
    (("model=gift", "--trust", "autotune"), "--trust", "for other packages"),
    (("model=gift", "--trust", "gift,other"), "--trust", "takes one dotted name"),
    (("model._target_=autotune.cli.command.main",), "model._target_", "autotune.models.cifar.mlp"),
]


@pytest.mark.parametrize(("argv", "key", "remedy"), REFUSED, ids=[" ".join(argv) for argv, _, _ in REFUSED])
def test_a_file_cannot_have_code_run(argv, key, remedy, configs, tmp_path, capfd):
    before = sorted(tmp_path.rglob("*"))
    assert main(["--config-dir", "conf", *argv]) == 2
    err = capfd.readouterr().err
    assert err.startswith("autotune: error: ")
    assert err.count("\n") == 1
    assert key in err
    assert remedy in err
    assert configs == []
    assert "gift" not in sys.modules
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "argv",
    [
        ("model=gift", "--trust", "gift"),
        ("--trust=gift", "model=gift"),
        ("model=gift", "data=gift", "train=gift", "constraint=gift", "--trust", "gift"),
        ("model=gift", "data=gift", "--trust", "gift.build", "--trust", "gift.load"),
        ("--config-name", "best", "--trust", "gift"),
        ("-m", "model=gift,cifar_mlp", "--trust", "gift"),
        # Their own words.
        ("model._target_=gift.build",),
        ("model._target_='gift.build'",),
        ("-m", "model._target_=gift.build,gift.other"),
        ("train.callbacks=[{_target_: gift.Callback}]",),
        ("+model.args={act: {_target_: gift.build}}",),
        ("train=stopping",),
    ],
)
def test_a_persons_own_word_is_enough(argv, configs, tmp_path, capfd):
    assert main(["--config-dir", "conf", *argv]) == 0, capfd.readouterr().err
    assert configs
    assert trust.granted() == (), "and it holds for this command only"
    assert not (tmp_path / "MARK").exists(), "what is named is imported by the worker"


@pytest.mark.parametrize(
    ("override", "names"),
    [
        ("model._target_=a.b", ["a.b"]),
        ("++model._target_=a.b", ["a.b"]),
        ('model._target_="a.b"', ["a.b"]),
        ("model._target_=a.b,c.d", ["a.b", "c.d"]),
        ("train.callbacks=[{_target_: a.b, args: {x: {_target_: c.d}}}, {_target_: 'e.f'}]", ["a.b", "c.d", "e.f"]),
        ("model._target_=${data.name}", []),
        ("model._target_=a.${data.name}", []),
        ("model.name=a.b", []),
        ("data.args._target_x=a.b", []),
        ("~model._target_", []),
        ("model._target_=[a.b", []),
        ("model._target_=", []),
    ],
)
def test_what_counts_as_typed(override, names):
    assert typed([override]) == names


@pytest.mark.slow
def test_the_worker_asks_again(tmp_path):
    """Without the parent's check, as a damaged or forged request would come: in a process of its own."""
    for name in ("gift.py", "conf/data/gift.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    code = """
        import sys
        from pathlib import Path
        from autotune import codec
        from autotune.config.data import DataConfig
        from autotune.config.hardware import DeviceKind, HardwareConfig
        from autotune.config.schema import Config
        from autotune.errors import ConfigError
        from autotune.trust import trusting
        from autotune.worker.process import WorkerProcess

        hw = HardwareConfig(name="auto", title="this machine", kind=DeviceKind.auto)
        config = Config(hw=hw, data=DataConfig(name="gift", _target_="gift.load"))
        with trusting(sys.argv[1:]):
            worker = WorkerProcess({}, Path("worker.log"), None)
        try:
            worker.ask("open", {"config": codec.plain(config)}, 60)
        except ConfigError as error:
            print("refused", error)
        except Exception as error:
            print("loaded", type(error).__name__)
        finally:
            worker.close()
    """
    root = Path(__file__).parents[2]
    for trusted, said, marked in (([], "refused data._target_ must", False), (["gift"], "loaded", True)):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), *trusted],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert said in done.stdout, done.stdout + done.stderr
        assert (tmp_path / "MARK").exists() is marked


@pytest.mark.slow
def test_nothing_in_the_working_directory_is_imported_by_the_command_itself(tmp_path):
    """`python -m` would put it first on the path: a module of a well-known name, or a plugin of Hydra's."""
    for name in ("yaml.py", "omegaconf.py", "argparse.py", "hydra_plugins/gift.py", "sitecustomize.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(MODULE, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for argv in (["--cfg", "job"], ["train.batch_size=0"], ["model._target_=gift.build", "train.batch_size=0"]):
        done = subprocess.run(
            [sys.executable, "-m", "autotune", *argv],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == (0 if "--cfg" in argv else 2), done.stderr
        assert not (tmp_path / "MARK").exists()
