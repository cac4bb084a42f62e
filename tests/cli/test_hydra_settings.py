"""Hydra's own settings in somebody's configuration: the ways by which they run code, each tried."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from autotune.cli.command import main
from autotune.config.schema import Config
from tests.cli.received import received_from

TOUCHING = "{_target_: pathlib.Path.touch, _args_: [{_target_: pathlib.Path, _args_: [MARK]}]}"
PLACED = TOUCHING[1:-1].replace(", _args_", "\n_args_", 1) + "\n"

PRIMARY = {
    "callback": f"hydra: {{callbacks: {{x: {TOUCHING}}}}}",
    "shell": "hydra: {callbacks: {x: {_target_: os.system, command: touch MARK}}}",
    "launcher": f"hydra: {{launcher: {{x: {TOUCHING}}}}}",
    "launcher_class": "hydra: {launcher: {_target_: mark.Launcher}}",
    "sweeper": f"hydra: {{sweeper: {{params: {{x: {TOUCHING}}}}}}}",
    "sweep": "hydra: {mode: MULTIRUN, sweeper: {params: {hydra.job.env_set: '{A: b}'}}}",
    "logging": "hydra: {job_logging: {root: {handlers: [x]}, handlers: {x: {(): mark.Handler}}}}",
    "hydra_logging": "hydra: {hydra_logging: {version: 1, root: {level: INFO}, formatters: {x: {(): mark.Handler}}}}",
    "search_path": "hydra: {searchpath: [pkg://mark_package]}",
    "search_folder": "hydra: {searchpath: [file:///tmp]}",
    "environment": "hydra: {job: {env_set: {LD_PRELOAD: mark.so}}}",
    "environment_copied": "hydra: {job: {env_copy: [HOME]}}",
    "folder": "hydra: {sweep: {subdir: MARK}}",
    "elsewhere": "hydra: {job: {chdir: true}}",
    "overrides": "hydra: {overrides: {hydra: ['hydra.job.env_set={A: b}'], task: [task=plan]}}",
    "by_reference": f"hydra: {{callbacks: '${{model.args}}'}}\nmodel: {{args: {{x: {TOUCHING}}}}}",
    "whole_by_reference": f"hydra: '${{model.args}}'\nmodel: {{args: {{callbacks: {{x: {TOUCHING}}}}}}}",
}
GROUP = {
    "conf/model/global.yaml": f"# @package _global_\nhydra: {{callbacks: {{x: {TOUCHING}}}}}\n",
    "conf/model/package.yaml": f"# @package hydra.callbacks.x\n{PLACED}",
    "conf/hydra/callbacks/mine.yaml": f"x: {TOUCHING}\n",
    "conf/hydra/job_logging/mine.yaml": "root: {handlers: [x]}\nhandlers: {x: {(): mark.Handler}}\n",
    "conf/moved.yaml": "defaults: [config, hydra/callbacks: mine, _self_]\n",
    "conf/placed.yaml": "defaults: [config, model@hydra.callbacks.x: placed, _self_]\n",
    "conf/model/placed.yaml": PLACED,
    "conf/overridden.yaml": "defaults: [config, override hydra/job_logging: mine, _self_]\n",
}
OWN = """
from pathlib import Path
Path("MARK").touch()
class Launcher: ...
class Handler: ...
"""


@pytest.fixture
def configs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Config]:
    files = {f"conf/{name}.yaml": f"defaults: [config, _self_]\n{text}\n" for name, text in PRIMARY.items()}
    files |= GROUP | {"mark.py": OWN, "mark_package/__init__.py": OWN, "mark_package/x.yaml": "task: tune\n"}
    monkeypatch.syspath_prepend(str(tmp_path))
    return received_from(files, tmp_path, monkeypatch)


ATTACKS = [
    *(("--config-name", name) for name in PRIMARY),
    *(("--config-name", name) for name in ("moved", "placed", "overridden")),
    ("model=global",),
    ("model=package",),
    ("-m", "model=global,cifar_mlp"),
    ("hydra/callbacks=mine",),
    ("--config-name", "sweep", "-m"),
    ("--config-name", "launcher", "-m", "search.trials=1,2"),
]


@pytest.mark.parametrize("argv", ATTACKS, ids=" ".join)
def test_no_file_sets_what_hydra_would_run(argv, configs, tmp_path, capfd):
    before = sorted(tmp_path.rglob("*"))
    assert main(["--config-dir", "conf", *argv]) == 2
    out, err = capfd.readouterr()
    assert err.count("\n") == 1, out + err
    assert "hydra" in err
    assert not {"mark", "mark_package"} & set(sys.modules)
    assert not any(config.model.name == "global" for config in configs)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("group", ["global", "package"])
def test_nor_one_that_is_reached_from_the_built_in_groups(group, configs, tmp_path, capfd):
    """A path that leaves the package finds a person's file although no folder of theirs was named."""
    built_in = str(files("autotune.conf") / "model")
    assert main([f"model={os.path.relpath(tmp_path / 'conf' / 'model' / group, built_in)}"]) == 2
    assert "must not be set in a configuration file" in capfd.readouterr().err
    assert not configs
    assert not {"mark", "mark_package"} & set(sys.modules)


@pytest.mark.parametrize("flags", ["--cfg job", "--cfg hydra", "--info", "--info defaults", "--help"])
@pytest.mark.parametrize("name", ["callback", "search_path", "logging"])
def test_looking_at_a_configuration_runs_nothing(flags, name, configs, tmp_path, capfd):
    before = sorted(tmp_path.rglob("*"))
    main(["--config-dir", "conf", "--config-name", name, *flags.split()])
    assert not {"mark", "mark_package"} & set(sys.modules)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "argv",
    [
        ("hydra.searchpath=[file://conf]",),
        ("hydra.verbose=false",),
        ("hydra/job_logging=disabled",),
        ("+hydra.job.env_set.MARKED=1",),
        ("hydra.mode=MULTIRUN", "search.trials=1,2"),
    ],
)
@pytest.mark.parametrize("config_dir", [(), ("--config-dir", "conf")])
def test_what_is_typed_holds(argv, config_dir, configs, tmp_path, capfd):
    assert main([*config_dir, *argv]) == 0, capfd.readouterr().err
    assert configs


def test_help_texts_and_the_way_to_run_may_stand_in_a_file(configs, tmp_path):
    (tmp_path / "conf" / "mine.yaml").write_text(
        "defaults: [config, _self_]\nhydra: {mode: MULTIRUN, help: {template: mine}, job: {name: mine}}\n",
        encoding="utf-8",
    )
    assert main(["--config-dir", "conf", "--config-name", "mine", "search.trials=1,2"]) == 0
    assert [config.search.trials for config in configs] == [1, 2]


@pytest.mark.parametrize("chosen", ["-cn", "model="])
def test_also_in_a_file_that_is_reached_from_the_built_in_ones(chosen, configs, tmp_path):
    """Such a file is none of ours although no other place was named."""
    built_in = Path(str(files("autotune.conf")))
    (tmp_path / "conf" / "mine.yaml").write_text(
        "# @package _global_\nhydra: {mode: MULTIRUN}\ndefaults: [/config, _self_]\n", encoding="utf-8"
    )
    (tmp_path / "conf" / "model" / "several.yaml").write_text(
        "# @package _global_\nhydra: {mode: MULTIRUN}\ndefaults: [cifar_mlp@model]\n", encoding="utf-8"
    )
    if chosen == "-cn":
        argv = ["-cn", os.path.relpath(tmp_path / "conf" / "mine", built_in)]
    else:
        argv = [f"model={os.path.relpath(tmp_path / 'conf' / 'model' / 'several', built_in / 'model')}"]
    assert main([*argv, "search.trials=1,2"]) == 0
    assert [config.search.trials for config in configs] == [1, 2]


def test_also_in_a_file_that_a_typed_search_path_finds(configs, tmp_path):
    (tmp_path / "conf" / "model" / "several.yaml").write_text(
        "# @package _global_\nhydra: {mode: MULTIRUN}\ndefaults: [cifar_mlp@model]\n", encoding="utf-8"
    )
    assert main([f"hydra.searchpath=[file://{tmp_path}/conf]", "model=several", "search.trials=1,2"]) == 0
    assert [config.search.trials for config in configs] == [1, 2]
