"""What loads can be written down, as an export does, and composes back to the same configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from autotune.config.compose import load, to_yaml_dict
from autotune.config.schema import Config
from autotune.errors import ConfigError
from tests.fuzz.samples import GRAMMAR, LETTERS, NUMBERS, PATHS, REFERENCES

pytestmark = pytest.mark.slow

OWN: Mapping[str, Any] = {
    "model": {"name": "mine", "_target_": "autotune.models.cifar.mlp"},
    "data": {"name": "mine", "_target_": "autotune.data.cifar10.load"},
    "hw": {"name": "auto", "title": "what is here", "kind": "auto"},
}
TEXT = st.sampled_from([*GRAMMAR, *LETTERS, *NUMBERS, *PATHS, *REFERENCES]) | st.text(max_size=12)
SCALAR = st.none() | st.booleans() | st.integers(-9, 10**6) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
TREE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6
)
ARGS = st.dictionaries(TEXT, TREE, max_size=3)
POSITIVE = st.floats(1e-3, 1e6)

OF_KEY = {
    "model.name": TEXT,
    "model.args": ARGS,
    "data.args": ARGS,
    "data.dir": TEXT,
    "train.optimizer_args": ARGS,
    "train.learning_rate": st.floats(1e-6, 1.0),
    "train.schedule": st.sampled_from(["cosine", "constant"]),
    "hw.title": TEXT,
    "hw.source": TEXT,
    "hw.device_names": st.lists(TEXT, max_size=3),
    "hw.memory_gb": POSITIVE,
    "hw.peak_tflops": st.dictionaries(st.sampled_from(["float32", "float16"]), POSITIVE),
    "search.budget": st.none() | st.sampled_from(["30s", "90", "1h30m", "1e3"]),
    "search.xla": st.sampled_from([[True], [False], [False, True]]),
    "search.timing.max_s": st.floats(1e-3, 80_000.0),
    "constraint.metric": TEXT,
    "constraint.margin": st.floats(1e-6, 0.5),
    "tracking.experiment": st.none() | TEXT,
    "output.root": TEXT,
    "task": st.sampled_from(["tune", "plan", "train"]),
}
VALUES = st.lists(st.sampled_from(sorted(OF_KEY)), max_size=3, unique=True).flatmap(
    lambda keys: st.fixed_dictionaries({key: OF_KEY[key] for key in keys})
)


def loaded(values: Mapping[str, Any], cwd: Path) -> Config:
    cfg = OmegaConf.merge(OmegaConf.structured(Config), OWN)
    for key, value in values.items():
        OmegaConf.update(cfg, key, _literal(value))
    return load(cfg, cwd)


def _literal(value: Any) -> Any:
    """Values whose texts mean themselves; what references do is another test's."""
    match value:
        case str():
            return value if "${" not in value else value.replace("${", "$")
        case list():
            return [_literal(entry) for entry in value]
        case dict():
            return {_literal(key): _literal(entry) for key, entry in value.items()}
    return value


@given(VALUES)
def test_what_loads_composes_back(terminal, values):
    try:
        config = loaded(values, Path.cwd())
    except (ConfigError, ValueError):
        assume(False)
        raise
    exported = OmegaConf.to_yaml({"defaults": ["base", "_self_"], **to_yaml_dict(config)})
    outcome = terminal.type(["-cd", "mine", "-cn", "best"], {"mine/best.yaml": exported.encode()})
    assert (outcome.err, outcome.configs) == ("", (config,))
