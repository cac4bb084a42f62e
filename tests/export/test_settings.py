"""`best.yaml`: what the export writes is what Hydra composes back."""

from __future__ import annotations

import copy
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from autotune.config.compose import to_yaml_dict
from autotune.config.schema import Config, Task, XlaChoice
from autotune.config.search import Verify
from autotune.export.settings import write_settings
from autotune.space.recipe import Fidelity, recipe_for
from autotune.trial import Candidate, Pipeline, Policy, Xla

FIDELITY = Fidelity(8192, 3)
CANDIDATE = Candidate(Policy("mixed_bfloat16"), 512, Xla.ON, (3008, 1008), 8)


def export(config, folder: Path, candidate: Candidate = CANDIDATE, fidelity: Fidelity = FIDELITY) -> Path:
    folder.mkdir()
    recipe = recipe_for(config.train, candidate, fidelity)
    return write_settings(folder, config, candidate, recipe, "2026-01-01/12-00-00_net")


_COMPOSED: list[Config] = []


@pytest.fixture
def config(compose) -> Config:
    """That of a study of `cifar_mlp`, composed once: it takes a third of a second."""
    if not _COMPOSED:
        _COMPOSED.append(compose("model=cifar_mlp"))
    return copy.deepcopy(_COMPOSED[0])


def test_the_winner_composes_to_a_training_of_itself(compose, tmp_path):
    export(compose("model=cifar_mlp", "hw=rtx2060"), tmp_path / "export")
    best = compose("--config-dir", "export", "--config-name", "best")
    assert best.task is Task.train
    assert best.candidate.policy == "mixed_bfloat16"
    assert (best.candidate.batch_size, best.candidate.xla) == (512, XlaChoice.on)
    assert (best.candidate.widths, best.candidate.steps_per_execution) == ([3008, 1008], 8)
    assert (best.train.examples, best.train.epochs) == (8192, 3)
    assert best.hw.name == "rtx2060"


def test_the_learning_rate_still_follows_from_the_persons_own_batch(compose, tmp_path):
    config = compose("train.batch_size=64", "train.learning_rate=0.02", "train.warmup_steps=8")
    export(config, tmp_path / "export")
    best = compose("--config-dir", "export", "--config-name", "best")
    assert (best.train.batch_size, best.train.learning_rate, best.train.warmup_steps) == (64, 0.02, 8)
    confirmed = recipe_for(config.train, CANDIDATE, FIDELITY)
    assert recipe_for(best.train, CANDIDATE, Fidelity(best.train.examples, best.train.epochs)) == confirmed


def test_everything_but_the_training_is_the_persons_own(compose, tmp_path):
    config = compose(
        "model=digits_mlp",
        "search=thorough",
        "search.verify=all",
        "constraint.margin=0.02",
        "output.name=mine",
        "tracking.experiment=mine",
    )
    export(config, tmp_path / "export", Candidate(Policy("float32"), 128, Xla.AUTO, (64, 64)), Fidelity(1024, 2))
    best = compose("--config-dir", "export", "--config-name", "best")
    assert (best.model, best.data, best.constraint) == (config.model, config.data, config.constraint)
    assert best.search == config.search
    assert best.search.verify is Verify.all
    assert best.tracking == config.tracking
    assert best.candidate.xla is XlaChoice.auto
    assert best.output.name is None, "the name is taken, by the study itself"


def test_the_next_training_writes_where_it_is_run_and_not_into_a_folder_of_this_machine(compose, tmp_path):
    path = export(compose(f"output.root={tmp_path / 'elsewhere'}"), tmp_path / "export")
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["output"] == {"root": "outputs", "name": None}


def test_batches_that_the_short_recipe_had_no_room_for_do_not_stand_in_its_way(compose, tmp_path):
    """search.batch_sizes may exceed the examples that the budget allowed; the study left those out, with a reason."""
    config = compose("search.batch_sizes=[32,128,4096]")
    export(config, tmp_path / "export", Candidate(Policy("float32"), 128, Xla.OFF, (3000, 1000)), Fidelity(1024, 3))
    best = compose("--config-dir", "export", "--config-name", "best")
    assert best.candidate.batch_size == 128
    assert best.search.batch_sizes == [32, 128]


def test_a_longer_training_is_an_override_away_as_the_header_says(compose, tmp_path):
    path = export(compose("model=cifar_mlp"), tmp_path / "export")
    header = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    assert "2026-01-01/12-00-00_net" in header[0]
    command = next(line for line in header if "python -m autotune" in line).lstrip("# ").split()
    assert command[:3] == ["python", "-m", "autotune"]
    assert compose(*command[3:]).task is Task.train
    longer = compose(*command[3:], "train.examples=null", "train.epochs=50")
    assert (longer.train.examples, longer.train.epochs) == (None, 50)


def test_the_command_in_the_header_can_be_pasted_into_a_shell(compose, tmp_path):
    path = export(compose("model=cifar_mlp"), tmp_path / "the export's folder")
    line = next(line for line in path.read_text(encoding="utf-8").splitlines() if "python -m autotune" in line)
    assert compose(*shlex.split(line.lstrip("# "))[3:]).task is Task.train


@pytest.mark.parametrize(
    ("policy", "xla"), [("float32", Xla.AUTO), ("mixed_float16", Xla.ON), ("mixed_bfloat16", Xla.OFF)]
)
def test_every_kind_of_candidate_composes(config, compose, tmp_path, policy, xla):
    candidate = Candidate(Policy(policy), 64, xla, (3000, 1000))
    export(config, tmp_path / "export", candidate)
    best = compose("--config-dir", "export", "--config-name", "best").candidate
    assert Candidate(Policy(best.policy), best.batch_size, Xla(best.xla.value), tuple(best.widths)) == candidate


def test_what_is_searched_only_when_asked_for_is_exported_too(config, compose, tmp_path):
    candidate = Candidate(Policy("float32"), 64, Xla.OFF, (3000, 1000), 1, 4, False, Pipeline.DEVICE)
    export(config, tmp_path / "export", candidate)
    best = compose("--config-dir", "export", "--config-name", "best").candidate
    assert (best.accumulation, best.tf32, Pipeline(best.pipeline.value)) == (4, False, Pipeline.DEVICE)


HOSTILE = [
    "a: b - c # d",
    "# @package hydra",
    "${oc.env:HOME}",
    "\\${oc.env:HOME}",
    "\\\\${model.widths}",
    "!!python/object/apply:os.system [id]",
    "&a *a",
    "</script><script>alert(1)</script>",
    "=HYPERLINK(1)",
    "{{x}} %s {0}",
    "'\"`$(touch MARK)",
    "1_000",
    "null",
    "1e3",
    "yes",
]


@pytest.mark.parametrize(("first", "second"), [(0, 3), (6, 12)])
def test_names_of_any_kind_come_back_as_they_were(config, compose, tmp_path, first, second):
    config.model.name, config.constraint.metric = names = HOSTILE[first], HOSTILE[second]
    config.data.args = {one: [one, {one: one}] for one in HOSTILE}
    export(config, tmp_path / "export")
    best = compose("--config-dir", "export", "--config-name", "best")
    assert ((best.model.name, best.constraint.metric), best.data.args) == (names, config.data.args)


@pytest.mark.parametrize(
    "folder", ["two\nhydra: {callbacks: {x: {_target_: os.system}}}\n", "a\u2028b: c", "it's $(x)"]
)
def test_a_folders_name_is_no_line_of_the_configuration(config, compose, tmp_path, folder):
    path = export(config, tmp_path / folder)
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(content) == {"defaults", *to_yaml_dict(Config())}
    assert compose("--config-dir", str(path.parent), "--config-name", "best").task is Task.train


def test_the_header_says_what_must_be_trusted(compose, tmp_path):
    config = compose("model=cifar_mlp", "model._target_=my_net.build")
    path = export(config, tmp_path / "export")
    line = next(line for line in path.read_text(encoding="utf-8").splitlines() if "python -m autotune" in line)
    assert line.endswith("--config-name best --trust my_net.build")
    assert compose(*shlex.split(line.lstrip("# "))[3:]).model._target_ == "my_net.build"


def test_a_secret_from_the_environment_stays_there(compose, tmp_path, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "hunter2-and-more")
    path = export(compose("+data.args.password=${oc.env:DB_PASSWORD}"), tmp_path / "export")
    assert "hunter2" not in path.read_text(encoding="utf-8")
    best = compose("--config-dir", "export", "--config-name", "best")
    assert best.data.args["password"] == "hunter2-and-more"


def test_layers_that_stay_in_float32_compose_back(config, compose, tmp_path):
    policy = Policy("mixed_bfloat16", ("hidden_2", "block/norm"))
    export(config, tmp_path / "export", replace(CANDIDATE, policy=policy))
    best = compose("--config-dir", "export", "--config-name", "best")
    assert (best.candidate.policy, best.candidate.float32_layers) == ("mixed_bfloat16", ["hidden_2", "block/norm"])


def test_an_export_of_an_older_version_keeps_none_in_float32(config, compose, tmp_path):
    path = export(config, tmp_path / "export")
    text = path.read_text(encoding="utf-8")
    assert "  float32_layers: []\n" in text
    path.write_text(text.replace("  float32_layers: []\n", "").replace("  fallback: false\n", ""), encoding="utf-8")
    best = compose("--config-dir", "export", "--config-name", "best")
    assert (best.candidate.float32_layers, best.search.fallback) == ([], False)
