from __future__ import annotations

import pytest
from omegaconf import DictConfig, OmegaConf

from autotune.config.keys import GROUPS, misspelt, open_keys, schema_keys
from autotune.config.schema import Config


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("search.batchsize", "search.batch_sizes"),
        ("serach.trials", "search.trials"),
        ("searhc.budgte", "search.budget"),
        ("batch_size", "train.batch_size"),
        ("modle", "model"),
        ("train.lr", "train.learning_rate"),
        ("zzz", "all keys: --cfg job"),
        ("search.timing.blok_s", "search.timing.block_s"),
        ("hydra.ouput_subdir", "hydra.output_subdir"),
        ("seed", "'search.seed' or 'train.seed'"),
    ],
)
def test_the_nearest_key_is_named(typed, meant):
    assert meant in misspelt(typed, GROUPS)
    assert f"'{typed}'" in misspelt(typed, GROUPS)


def test_an_open_dictionary_says_how_to_add_to_it():
    assert open_keys() >= {"model.args", "data.args", "constraint.args", "train.optimizer_args"}
    assert "+data.args.path=" in misspelt("data.args.path")


def test_a_key_of_the_schema_that_is_not_there_is_no_slip():
    assert "the primary configuration must start from base" in misspelt("search.trials", GROUPS)


def test_every_group_is_a_key():
    assert set(GROUPS) <= set(schema_keys())


def test_keys_are_those_that_omegaconf_makes_of_the_schema():
    def dotted(node, prefix=""):
        for key in node:
            yield f"{prefix}{key}"
            if not OmegaConf.is_missing(node, key) and isinstance(node[key], DictConfig):
                yield from dotted(node[key], f"{prefix}{key}.")

    root = OmegaConf.structured(Config)
    assert schema_keys() == tuple(dotted(root))
    assert open_keys() == {key for key in schema_keys() if OmegaConf.select(root, key, throw_on_missing=False) == {}}
