"""What comes first, once 16 bit has shown what it does here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.search import SearchConfig
from autotune.study.guesses import first_guesses, where_16_bit_pays
from autotune.study.propose import Proposer
from autotune.trial import Candidate
from tests.study.fake_executor import BF16, F32, usual_speed
from tests.study.test_propose import BASELINE, space_of

SIZES = (32, 64, 128, 256, 512)


def measured(gain_of_16_bit: dict[int, float]) -> dict[Candidate, float]:
    """Both policies at these batches, and the baseline."""
    found = {BASELINE: 1.0}
    for batch, gain in gain_of_16_bit.items():
        plain = replace(BASELINE, batch_size=batch)
        found[plain] = batch / 32
        found[replace(plain, policy=BF16)] = gain * batch / 32
    return found


@pytest.mark.parametrize("guess", [(32, 8), (64, 8), (128, 1), (512, 1)])
@pytest.mark.parametrize("gains", [{32: 0.4, 64: 0.36}, {32: 0.4, 64: 0.43}, {64: 0.5, 128: 0.4}])
def test_where_16_bit_loses_at_every_batch_float32_is_tried(gains, guess):
    batch, steps = guess
    asked = replace(BASELINE, policy=BF16, batch_size=batch, steps_per_execution=steps)
    assert where_16_bit_pays(asked, measured(gains)) == replace(asked, policy=F32)


@pytest.mark.parametrize(
    ("gains", "why"),
    [
        ({32: 0.4}, "one batch says nothing of another"),
        ({32: 0.8, 64: 0.9}, "a host-bound step: it catches up with the batch"),
        ({32: 0.95, 64: 0.94}, "within what screening may be wrong by"),
        ({32: 1.02, 64: 0.9}, "it won once"),
    ],
)
def test_where_it_may_still_win_16_bit_is_tried(gains, why):
    asked = replace(BASELINE, policy=BF16, batch_size=256)
    assert where_16_bit_pays(asked, measured(gains)) == asked, why


def test_what_was_only_measured_with_other_settings_is_not_compared():
    slow = {BASELINE: 1.0, replace(BASELINE, policy=BF16, steps_per_execution=8): 0.3}
    slow[replace(BASELINE, policy=BF16, batch_size=64, steps_per_execution=8)] = 0.3
    asked = replace(BASELINE, policy=BF16, batch_size=256)
    assert where_16_bit_pays(asked, slow) == asked


def test_a_study_stops_guessing_16_bit_once_it_has_lost_twice():
    """The first three are the question that people ask, and the float32 that it is compared with."""
    space = space_of(policies=(BF16, F32), batch_sizes=SIZES, examples=8192)
    guesses = list(first_guesses(space))
    assert [guess.policy for guess in guesses[:3]] == [BF16, BF16, F32]
    assert BF16 in [guess.policy for guess in guesses[3:]]
    proposer, asked = Proposer(space, SearchConfig(batch_sizes=list(SIZES))), []
    for _ in guesses:
        candidate = proposer.ask()
        assert candidate is not None
        slow = 0.4 / 1.5 if candidate.policy == BF16 else 1.0
        proposer.tell(candidate, slow * usual_speed(candidate))
        asked.append(candidate)
    assert asked[:3] == guesses[:3]
    assert BF16 not in [candidate.policy for candidate in asked[3:]]
