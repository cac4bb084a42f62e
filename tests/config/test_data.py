from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from autotune.config.data import DataConfig, OnUnavailable
from autotune.errors import ConfigError

CONF = Path(__file__).parents[2] / "conf" / "data"
GOOD: dict[str, Any] = {"name": "mine", "_target_": "mine.load"}


@pytest.mark.parametrize("path", sorted(CONF.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_dataset_of_the_repository_fits_the_schema(path: Path) -> None:
    assert path.read_text().startswith("# ")
    merged = OmegaConf.merge(OmegaConf.structured(DataConfig), OmegaConf.load(path))
    if OmegaConf.is_missing(merged.args, "path"):
        merged.args.path = "mine.npz"
    config = OmegaConf.to_object(merged)
    assert isinstance(config, DataConfig)
    assert config.name == path.stem
    module, _, function = config._target_.rpartition(".")
    assert callable(getattr(importlib.import_module(module), function))


def test_the_names_may_still_be_missing() -> None:
    config = DataConfig()
    assert (config.name, config._target_) == ("???", "???")
    assert config.on_unavailable is OnUnavailable.stand_in
    assert OmegaConf.is_missing(OmegaConf.structured(DataConfig), "name")


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"name": " "}, "data.name"),
        ({"_target_": "load"}, "data._target_"),
        ({"_target_": "my module.load"}, "data._target_"),
        ({"dir": ""}, "data.dir"),
        ({"download_timeout_s": 0.0}, "data.download_timeout_s"),
        ({"download_timeout_s": float("inf")}, "data.download_timeout_s"),
        ({"download_timeout_s": float("nan")}, "data.download_timeout_s"),
        ({"validation_examples": 0}, "data.validation_examples"),
        ({"split_seed": -1}, "data.split_seed"),
        ({"num_classes": 1}, "data.num_classes"),
        ({"max_memory_gb": -1.0}, "data.max_memory_gb"),
    ],
)
def test_impossible_values_name_their_key(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=key.replace(".", r"\.")):
        DataConfig(**{**GOOD, **changes})
    wrong = OmegaConf.merge(OmegaConf.structured(DataConfig), {**GOOD, **changes})
    with pytest.raises(ConfigError):
        OmegaConf.to_object(wrong)
