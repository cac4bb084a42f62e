from __future__ import annotations

import pytest

from autotune.config.keys import GROUPS, misspelt, open_keys, schema_keys


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


def test_every_group_is_a_key():
    assert set(GROUPS) <= set(schema_keys())
