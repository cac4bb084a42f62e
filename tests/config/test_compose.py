"""Every YAML composes and validates; a choice beats a model's own; an exported configuration composes back."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from autotune.config.compose import to_yaml_dict
from autotune.config.constraint import Direction
from autotune.config.keys import GROUPS
from autotune.config.train import Schedule
from autotune.targets import resolve
from autotune.worker import metrics

CHOICES = [
    (group, file.name.removesuffix(".yaml"))
    for group in GROUPS
    for file in sorted(files("autotune.conf").joinpath(group).iterdir(), key=lambda file: file.name)
    if file.name.endswith(".yaml")
]
# A choice that asks its user for a value, as its header says.
NEEDED = {("data", "npz"): ("data.args.path=mine.npz",)}


@pytest.mark.parametrize(("group", "choice"), CHOICES, ids=[f"{g}={c}" for g, c in CHOICES])
def test_every_choice_composes(compose, group, choice):
    config = compose(f"{group}={choice}", *NEEDED.get((group, choice), ()))
    assert getattr(config, group) is not None


@pytest.mark.parametrize(
    ("choice", "function", "direction", "relative"),
    [
        ("accuracy", "accuracy", Direction.higher, False),
        ("cross_entropy", "cross_entropy", Direction.lower, True),
        ("error", "error_rate", Direction.lower, False),
    ],
)
def test_a_constraint_names_a_metric_and_which_way_is_better(compose, choice, function, direction, relative):
    constraint = compose(f"constraint={choice}").constraint
    assert resolve(constraint._target_, "constraint._target_") is getattr(metrics, function)
    assert (constraint.metric, constraint.direction, constraint.relative) == (choice, direction, relative)


def test_every_group_has_a_choice():
    assert {group for group, _ in CHOICES} == set(GROUPS)


@pytest.mark.parametrize("file", [*Path(str(files("autotune.conf"))).rglob("*.yaml")], ids=lambda f: f.stem)
def test_every_yaml_says_what_to_expect(file):
    assert file.read_text(encoding="utf-8").startswith("# ")


def test_the_default_run(compose, tmp_path):
    config = compose()
    assert (config.model.name, config.data.name, config.hw.name) == ("cifar_mlp", "cifar10", "auto")
    assert (config.train.optimizer, config.train.batch_size, config.train.schedule) == (
        "sgd",
        32,
        Schedule.cosine,
    )
    assert (config.search.trials, config.search.budget_s) == (10, 410)
    assert config.output.root == str(tmp_path / "outputs")


def test_a_model_brings_its_data_and_training(compose):
    config = compose("model=digits_mlp")
    assert (config.data.name, config.train.optimizer) == ("digits", "rmsprop")


@pytest.mark.parametrize(
    "arguments",
    [
        ("model=digits_mlp", "data=cifar10", "train=adam"),
        ("train=adam", "data=cifar10", "model=digits_mlp"),
    ],
)
def test_a_choice_on_the_command_line_beats_the_models_own(compose, arguments):
    config = compose(*arguments)
    assert (config.model.name, config.data.name, config.train.optimizer) == (
        "digits_mlp",
        "cifar10",
        "adam",
    )


def test_a_key_beats_every_choice(compose):
    config = compose(
        "train.batch_size=48",
        "model=digits_mlp",
        "train=adam",
        "search.trials=7",
        "search=thorough",
    )
    assert (config.train.batch_size, config.train.optimizer, config.search.trials) == (
        48,
        "adam",
        7,
    )


def test_the_most_searched_widths_keep_within_what_a_model_may_grow(compose):
    for model in ("cifar_mlp", "cifar_cnn", "digits_mlp"):
        config = compose(f"model={model}")
        assert len(config.model.width_bounds) == len(config.model.widths)


def export(config, folder: Path) -> Path:
    """What an export writes: a primary configuration of resolved values."""
    folder.mkdir()
    values = {"defaults": ["base", "_self_"], **to_yaml_dict(config)}
    (folder / "best.yaml").write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return folder


def test_an_exported_configuration_composes_back_unchanged(compose, tmp_path):
    config = compose(
        "model=digits_mlp",
        "hw=rtx2060",
        "search.xla=[true]",
        "+model.args.note='costs $5 {of} \\${x}'",
        "+train.optimizer_args.momentum=0.9",
        "candidate.policy=mixed_float16",
        "candidate.widths=[4096,4160]",
        "tracking.uri=sqlite:///store.db",
    )
    folder = export(config, tmp_path / "exported")
    assert compose("--config-dir", str(folder), "--config-name", "best") == config


def test_an_exported_configuration_can_be_changed(compose, tmp_path):
    folder = export(compose("model=digits_mlp", "search.xla=[true]"), tmp_path / "exported")
    config = compose(
        "--config-dir",
        "exported",
        "--config-name",
        "best",
        "task=train",
        "search.xla=[false,true]",
        "train.epochs=2",
    )
    assert (config.task.name, config.search.xla, config.train.epochs) == ("train", [False, True], 2)
    assert config.model.widths == [4096, 4096]
    assert sorted(file.name for file in folder.iterdir()) == ["best.yaml"]


def test_lists_and_dictionaries_leave_nothing_behind(compose, tmp_path):
    """`base` carries schema defaults only, so that no entry of a group's default choice survives in an export."""
    config = compose("search.steps_per_execution=[4]", "data=digits")
    config.data.args.clear()
    folder = export(config, tmp_path / "exported")
    again = compose("--config-dir", str(folder), "-cn", "best")
    assert (again.search.steps_per_execution, again.data.args) == ([4], {})


def test_a_person_brings_their_own_model_from_their_own_folder(compose, tmp_path):
    for package in ("models", "conf"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError('not ours')\n", encoding="utf-8")
    own = tmp_path / "my_conf" / "model"
    own.mkdir(parents=True)
    (own / "my_net.yaml").write_text(
        "defaults: [override /data@_global_.data: digits]\n"
        "name: my_net\n_target_: models.net.build\nwidths: [100]\nargs: {depth: 3}\n",
        encoding="utf-8",
    )
    config = compose("model=my_net", "--config-dir", "my_conf", "--trust", "models")
    assert (config.model.name, config.model.args, config.data.name) == (
        "my_net",
        {"depth": 3},
        "digits",
    )
