from __future__ import annotations

import pytest

from autotune.config import cross_checks
from autotune.config.schema import Config
from autotune.errors import ConfigError


def test_a_batch_must_fit_an_epoch():
    for group, key, batch in (
        ("train", "batch_size", 101),
        ("candidate", "batch_size", 101),
        ("search", "batch_sizes", [50, 101]),
    ):
        config = Config()
        config.train.examples = 100
        setattr(getattr(config, group), key, batch)
        with pytest.raises(ConfigError, match=rf"{group}\.{key} must not exceed train\.examples \(100\)"):
            cross_checks.check(config)


def test_a_batch_as_large_as_an_epoch_fits():
    config = Config()
    config.train.examples = config.train.batch_size = 100
    cross_checks.check(config)


def test_the_users_own_widths_lie_within_their_bounds():
    config = Config()
    config.model.widths, config.model.width_bounds = [8, 9], [[8, 16], [10, 16]]
    with pytest.raises(ConfigError, match=r"model\.width_bounds"):
        cross_checks.check(config)
    config.model.widths = [8, 10]
    cross_checks.check(config)


def test_widths_need_no_bounds():
    config = Config()
    config.model.widths = [8, 9]
    cross_checks.check(config)


def test_a_candidate_has_as_many_widths_as_the_model():
    config = Config()
    config.model.widths, config.candidate.widths = [8, 9], [8]
    with pytest.raises(ConfigError, match=r"candidate\.widths"):
        cross_checks.check(config)
