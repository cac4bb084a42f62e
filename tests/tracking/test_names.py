from __future__ import annotations

import pytest

from autotune.config.schema import Config
from autotune.tracking import names
from autotune.trial import Candidate, Policy, Xla

BASELINE = Candidate(Policy("float32"), 32, Xla.AUTO, (3000, 1000), 1)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("accuracy", "accuracy"),
        ("step time (ms)", "step_time__ms_"),
        ("mean@1", "mean_1"),
        ("a/b", "a_b"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("µs", "µs"),
        ("x" * 300, "x" * 250),
    ],
)
def test_names_are_what_mlflow_accepts(text: str, cleaned: str) -> None:
    assert names.name(text) == cleaned


def test_a_long_text_is_cut_visibly_and_fits() -> None:
    cut = names.shortened("a" * 9000, 6000)
    assert len(cut) == 6000
    assert cut.endswith("[cut from 9,000 characters]")
    assert names.shortened("a" * 6000, 6000) == "a" * 6000


@pytest.mark.parametrize(
    ("candidate", "mark", "name"),
    [
        (Candidate(Policy("mixed_bfloat16"), 512, Xla.OFF, (3000, 1000), 1), "", "07 mixed_bfloat16 b512"),
        (Candidate(Policy("float32"), 64, Xla.ON, (3008, 1008), 8), "", "07 float32 b64 xla x8 w3008-1008"),
        (Candidate(Policy("float32"), 64, Xla.OFF, (3000, 1000), 1), "not confirmed", "07 not confirmed float32 b64"),
    ],
)
def test_a_run_is_named_by_what_differs_from_the_baseline(candidate: Candidate, mark: str, name: str) -> None:
    assert names.run_name(7, candidate, BASELINE, mark) == name


def test_experiment_and_model_are_named_after_the_model_unless_told(config: Config) -> None:
    assert (names.experiment(None, "net"), names.registered_model(config)) == ("autotune-net", "cifar_mlp")
    config.tracking.registered_model = "team/net:1"
    assert (names.experiment("mine", "net"), names.registered_model(config)) == ("mine", "team_net_1")
