"""The command line as a person starts it: another process, another folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HEAVY = (
    "tensorflow",
    "keras",
    "jax",
    "mlflow",
    "optuna",
    "scipy",
    "sklearn",
    "pandas",
    "numpy",
    "matplotlib",
)


def python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["search.batchsize=64"], "did you mean 'search.batch_sizes'"),
        (["model=cifar_mpl"], "Did you mean 'cifar_mlp'"),
        (["--config-dir", "nowhere"], "must be a folder"),
        (["train.schedule=cosin"], "Did you mean 'cosine'"),
        (["model.widths=[1,2"], "unbalanced"),
    ],
)
def test_a_mistake_in_a_process_of_its_own(argv, said, tmp_path):
    done = python("-m", "autotune", *argv, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("autotune: error: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["--cfg", "job"], ["--info"], ["search.batchsize=64"]])
def test_answers_need_nothing_heavy(argv, tmp_path):
    script = (
        "import sys; from autotune.cli.command import main; main(sys.argv[1:]);"
        f"print(sorted({{name.partition('.')[0] for name in sys.modules}} & {set(HEAVY)!r}))"
    )
    assert python("-c", script, *argv, cwd=tmp_path).stdout.splitlines()[-1] == "[]"


def test_info_prints_the_search_path(tmp_path):
    (tmp_path / "mine").mkdir()
    text = python("-m", "autotune", "--info", "searchpath", "-cd", "mine", cwd=tmp_path).stdout
    assert "autotune.conf" in text
    assert str(tmp_path / "mine") in text


def test_help_takes_about_a_second(tmp_path):
    """Processor time, not wall clock: 0.5 to 0.9 s on a small machine, where importing TensorFlow takes 8 s."""
    before = os.times()
    assert python("-m", "autotune", "--help", cwd=tmp_path).returncode == 0
    after = os.times()
    assert after.children_user + after.children_system - before.children_user - before.children_system < 3


def test_ones_own_folder_may_hold_models_and_conf(tmp_path):
    for package in ("models", "conf"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError('somebody else')\n", encoding="utf-8")
    own = tmp_path / "my_conf" / "model"
    own.mkdir(parents=True)
    (own / "my_net.yaml").write_text("name: my_net\n_target_: models.net.build\n", encoding="utf-8")
    done = python("-m", "autotune", "model=my_net", "--cfg", "job", "--config-dir", "my_conf", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "_target_: models.net.build" in done.stdout
