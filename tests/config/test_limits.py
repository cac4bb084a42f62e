from __future__ import annotations

import math
import time
from typing import Any

import pytest

from autotune.config import limits
from autotune.config.checks import duration_s
from autotune.config.keys import schema_keys
from autotune.config.schema import Config
from autotune.errors import ConfigError


def config_with(key: str, value: Any) -> Config:
    """The defaults with one value, as it is after the schema's own checks."""
    config = Config()
    for name in ("model", "data", "hw"):
        getattr(config, name).name = "mine"
    config.hw.title = "mine"
    node: Any = config
    *parents, last = key.split(".")
    for parent in parents:
        node = getattr(node, parent)
    setattr(node, last, value)
    return config


def test_every_limit_is_of_a_key_that_exists():
    named = {*limits.MOST, *limits._AT_LEAST, *limits._LISTS, *limits._NAMES}
    assert named <= set(schema_keys())


def test_the_defaults_are_within_the_limits():
    limits.check(config_with("task", Config().task))


@pytest.mark.parametrize("key", sorted(limits.MOST))
def test_a_number_may_be_as_large_as_its_limit_and_no_larger(key):
    most = limits.MOST[key]
    limits.check(config_with(key, most))
    more = most + 1 if isinstance(most, int) else math.nextafter(most, math.inf)
    with pytest.raises(ConfigError, match=rf"{key} must be at most"):
        limits.check(config_with(key, more))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("train.batch_size", 2**31, "train.batch_size must be at most 2,147,483,647"),
        ("search.batch_sizes", [32, 10**30], "search.batch_sizes must be at most 2,147,483,647"),
        ("train.seed", -(2**31), "train.seed must be at least"),
        ("hw.memory_gb", math.inf, "hw.memory_gb must be a finite number"),
        ("model.args", {"a": [math.inf]}, "model.args.a must be a finite number"),
        ("hw.peak_tflops", {"float32": math.nan}, "hw.peak_tflops.float32 must be a finite number"),
        ("train.learning_rate", 1e-300, "so small that float32 rounds it to zero"),
        ("search.batch_sizes", list(range(1, 66)), "the number of entries of search.batch_sizes must be at most 64"),
        ("search.timing.max_pairs", 201, "search.timing.max_pairs must be at most 200"),
        ("search.budget", "8785h", "search.budget must be at most 31,622,400 s"),
        ("model.name", " ", "model.name must not be empty"),
        ("hw.title", "a\nb", "hw.title must be one line"),
        ("constraint.metric", "x" * 201, "constraint.metric must have at most 200 characters"),
        ("tracking.uri", "x" * 2_001, "tracking.uri must have at most 2,000 characters"),
    ],
)
def test_what_is_refused(key, value, said):
    with pytest.raises(ConfigError) as error:
        limits.check(config_with(key, value))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("train.batch_size", 2**31 - 1),
        ("search.batch_sizes", list(range(1, 65))),
        ("search.budget", "8784h"),
        ("model.args", {"size": 2**40, "rate": 1e300}),  # what a builder takes is its own affair
        ("train.optimizer_args", {"seed": 2**40}),
        ("tracking.experiment", None),
        ("tracking.uri", f"https://host/?token={'x' * 1_900}"),
    ],
)
def test_what_is_allowed(key, value):
    limits.check(config_with(key, value))


def test_a_long_text_is_soon_known_to_be_no_duration():
    began_s = time.process_time()
    with pytest.raises(ConfigError, match="must be a duration"):
        duration_s("search.budget", "1" * 200_000 + "x")
    assert time.process_time() - began_s < 1
