"""Candidates as Optuna's parameters and back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.study.parameters import distributions, from_params, params
from autotune.trial import Candidate, Xla
from tests.study.fake_executor import BF16, WIDTHS
from tests.study.test_propose import space_of


@pytest.mark.parametrize("widths", [WIDTHS, (7,), ()])
def test_a_candidate_survives_optunas_parameters(widths):
    candidate = Candidate(BF16, 128, Xla.ON, widths, 8)
    assert from_params(params(candidate), space_of().baseline) == candidate


def test_what_is_not_searched_is_no_parameter_and_stays_the_users_own():
    space = replace(space_of(), baseline=replace(space_of().baseline, tf32=False))
    assert set(distributions(space)) == {"policy", "batch_size", "xla", "steps_per_execution", "widths"}
    candidate = replace(space.baseline, batch_size=128)
    assert set(params(candidate, distributions(space))) == set(distributions(space))
    assert from_params(params(candidate), space.baseline) == candidate


def test_the_distributions_hold_every_candidate():
    kinds = distributions(space_of())
    for candidate in space_of().candidates():
        for name, value in params(candidate).items():
            assert value in kinds[name].choices
