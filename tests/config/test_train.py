"""Settings of the person's own training that contradict one another."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.config.train import Schedule, TrainConfig
from autotune.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"step_boundaries": [100]}, "train.step_boundaries needs train.schedule=step, but got 'cosine'"),
        ({"step_factor": 0.5, "schedule": Schedule.constant}, "train.step_factor needs train.schedule=step"),
        ({"step_boundaries": [0], "schedule": Schedule.step}, "train.step_boundaries must be at least 1 each"),
        ({"step_boundaries": [-5, -1], "schedule": Schedule.step}, "must be at least 1 each, but got [-5, -1]"),
    ],
)
def test_steps_that_no_training_would_have_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        TrainConfig(**given)
    assert said in str(raised.value)


def test_a_schedule_of_steps_has_its_own_settings() -> None:
    made = TrainConfig(schedule=Schedule.step, step_boundaries=[1, 100], step_factor=0.5)
    assert made.step_boundaries == [1, 100]
