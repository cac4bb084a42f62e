"""Settings of the dimensions that are searched only when asked for, and the mistakes that people make in them."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.config import cross_checks
from autotune.config.objective import Objective
from autotune.config.schema import CandidateConfig, Config
from autotune.config.search import InputPipeline, SearchConfig
from autotune.config.train import TrainConfig
from autotune.errors import ConfigError


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"accumulation": []}, "search.accumulation must not be empty"),
        ({"accumulation": [1, 0]}, "search.accumulation must be whole numbers of at least 1"),
        ({"accumulation": [2, 2]}, "search.accumulation must not repeat a value"),
        ({"tf32": []}, "search.tf32 must not be empty"),
        ({"tf32": [True, True]}, "search.tf32 must not repeat a value"),
        ({"pipeline": []}, "search.pipeline must not be empty"),
        ({"pipeline": [InputPipeline.host] * 2}, "search.pipeline must not repeat a value"),
    ],
)
def test_a_search_that_cannot_be(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        SearchConfig(**settings)


def test_none_of_them_is_searched_by_default() -> None:
    search = SearchConfig()
    assert (search.accumulation, search.tf32, search.pipeline) == ([1], None, [InputPipeline.host])


def test_accumulation_is_no_argument_of_the_optimizer() -> None:
    """It would halve the optimizer's steps unseen; what is searched instead keeps their number."""
    with pytest.raises(ConfigError, match=r"gradient_accumulation_steps out, but got 4; .*search\.accumulation"):
        TrainConfig(optimizer_args={"gradient_accumulation_steps": 4})


def test_a_candidate_is_trained_in_equal_parts() -> None:
    config = Config()
    config.train.batch_size = 32
    config.candidate = CandidateConfig(accumulation=3)
    with pytest.raises(ConfigError, match=r"candidate\.accumulation must divide the batch \(32\), but got 3"):
        cross_checks.check(config)
    config.candidate = CandidateConfig(accumulation=3, batch_size=96)
    cross_checks.check(config)
    with pytest.raises(ConfigError, match=r"candidate\.accumulation must be a number above zero"):
        CandidateConfig(accumulation=0)


def test_tf32_is_not_searched_where_trainings_of_one_process_are_compared() -> None:
    config = Config()
    config.search.tf32 = [True, False]
    cross_checks.check(config)
    config.objective.name = Objective.time_to_accuracy
    with pytest.raises(ConfigError, match=r"search\.tf32 cannot be searched with objective=time_to_accuracy"):
        cross_checks.check(config)


def test_only_a_16_bit_candidate_has_layers_that_stay_in_float32() -> None:
    assert CandidateConfig(policy="mixed_float16", float32_layers=["dense_2"]).float32_layers == ["dense_2"]
    with pytest.raises(ConfigError, match=r"candidate\.float32_layers needs a 16-bit candidate\.policy, but got"):
        CandidateConfig(float32_layers=["dense_2"])


def test_a_front_is_asked_for_by_its_group(compose: Any) -> None:
    config = compose("objective=pareto")
    assert config.objective.name is Objective.pareto
    assert [one.is_of_throughput for one in Objective] == [one.value in ("throughput", "pareto") for one in Objective]


def test_they_are_taken_from_a_command_line(compose: Any) -> None:
    config = compose(
        "search.accumulation=[1,4]", "search.tf32=[false]", "search.pipeline=[host,device]", "train.tf32=true"
    )
    assert (config.search.accumulation, config.search.tf32, config.train.tf32) == ([1, 4], [False], True)
    assert config.search.pipeline == [InputPipeline.host, InputPipeline.device]
