from __future__ import annotations

import math
from typing import Any

import pytest
from omegaconf import OmegaConf

from autotune.config.kinds import check
from autotune.config.schema import Config
from autotune.errors import ConfigError


def values(key: str, value: Any) -> Any:
    """The defaults as plain values, one of them replaced."""
    plain = OmegaConf.to_container(OmegaConf.structured(Config))
    node: Any = plain
    *parents, last = key.split(".")
    for parent in parents:
        node = node[parent]
    node[last] = value
    return plain


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("model.widths", [[1]], "an entry of model.widths must be a whole number, but got [1]"),
        ("model.widths", [None], "an entry of model.widths must be a whole number, but got None"),
        ("model.widths", 3, "model.widths must be a list, but got 3"),
        ("model.widths", None, "model.widths must be a list, but got None"),
        ("search.trials", True, "search.trials must be a whole number, but got True"),
        ("search.trials", 1.5, "search.trials must be a whole number, but got 1.5"),
        ("search.xla", [1], "an entry of search.xla must be true or false, but got 1"),
        ("search.budget", {}, "search.budget must be text, but got {}"),
        ("hw.peak_tflops", {"float32": []}, "hw.peak_tflops.float32 must be a number, but got []"),
        ("hw.device_names", {"a": "b"}, "hw.device_names must be a list"),
        ("search.timing", [], "search.timing must be what its own keys are, but got []"),
        ("search.timing", {"rounds": 3}, "search.timing must be what its own keys are"),
        ("search.trials", 2**63, "search.trials must be a number below 2**63, but got one of 64 bits"),
        ("model.args", {"a": b"x"}, "model.args.a must be a list, a dictionary, a number, text"),
        ("model.args", {"a": {1: 2}}, "the keys of model.args.a must be text, but got 1; put it in quotes"),
        ("model.args", {"a": [{"b": -(2**70)}]}, "an entry of model.args.a.b must be a number below 2**63"),
    ],
)
def test_what_is_refused(key, value, said):
    with pytest.raises(ConfigError) as error:
        check(values(key, value), Config)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("search.trials", 2**63 - 1),  # whether it makes sense is not asked here
        ("search.trial_timeout_s", 3),
        ("train.learning_rate", math.nan),
        ("search.batch_sizes", None),
        ("model.name", "???"),
        ("model.args", {"any": [1, None, {"thing": [[]]}], "at": {"all": 2.5}}),
        ("model.width_bounds", [[1, 2], [3, 4]]),
    ],
)
def test_what_is_allowed(key, value):
    check(values(key, value), Config)
