"""Which combination likely goes best, from what its settings did in others."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from autotune.study.together import FEWEST, MOST, at_most, likeliest
from autotune.trial import Candidate, Policy, Xla

OWN = Candidate(Policy("float32"), 32, Xla.OFF, (64,))
SPACE = [
    replace(OWN, policy=Policy(policy), batch_size=batch, xla=xla, steps_per_execution=steps)
    for policy, batch, xla, steps in itertools.product(
        ("mixed_bfloat16", "float32"), (32, 64, 128, 256), (Xla.OFF, Xla.ON), (1, 8)
    )
]
BEST = replace(OWN, policy=Policy("mixed_bfloat16"), batch_size=256, xla=Xla.ON, steps_per_execution=8)


def factors(one: Candidate) -> float:
    """1.2 from the policy, 1.5 from each doubling of the batch, 1.3 from XLA, 1.4 from eight steps a call."""
    found = 1.5 ** ((one.batch_size // 32).bit_length() - 1)
    found *= 1.2 if not one.policy.is_float32 else 1.0
    found *= 1.3 if one.xla is Xla.ON else 1.0
    return found * (1.4 if one.steps_per_execution == 8 else 1.0)


def alone() -> list[Candidate]:
    """Each setting by itself, and two batches."""
    changed = [
        {"policy": Policy("mixed_bfloat16")},
        {"batch_size": 64},
        {"batch_size": 128},
        {"xla": Xla.ON},
        {"steps_per_execution": 8},
    ]
    return [replace(OWN, **change) for change in changed]  # type: ignore[arg-type]


def test_what_each_setting_gained_alone_names_the_best_of_all_together() -> None:
    speedups = {one: factors(one) for one in [OWN, *alone()]}
    assert likeliest(speedups, [one for one in SPACE if one not in speedups], max(speedups.values())) == BEST


def test_a_few_per_cent_of_noise_do_not_change_it() -> None:
    noise = itertools.cycle([1.04, 0.97, 1.0, 0.95, 1.03])
    speedups = {one: factors(one) * next(noise) for one in [OWN, *alone()]}
    assert likeliest(speedups, [one for one in SPACE if one not in speedups], max(speedups.values())) == BEST


def test_a_batch_at_which_more_steps_a_call_gain_nothing_is_learnt() -> None:
    """Eight steps a call help at a batch of 32 and harm at 256: not both are proposed once that was seen."""
    seen = {OWN: 1.0}
    for batch, plain, eight in ((32, 1.0, 1.6), (64, 1.6, 2.0), (128, 2.4, 2.2), (256, 3.2, 2.0)):
        seen[replace(OWN, batch_size=batch)] = plain
        seen[replace(OWN, batch_size=batch, steps_per_execution=8)] = eight
    left = [one for one in SPACE if one not in seen and one.policy.is_float32]
    found = likeliest(seen, left, max(seen.values()))
    assert found is not None
    assert (found.batch_size, found.steps_per_execution) == (256, 1)


def test_nothing_is_proposed_that_is_not_promising() -> None:
    speedups = {one: factors(one) for one in [OWN, *alone(), BEST]}
    slow = [one for one in SPACE if factors(one) < 0.6 * factors(BEST)]
    assert likeliest(speedups, slow, factors(BEST)) is None
    assert likeliest(speedups, [], 1.0) is None


def test_a_setting_of_which_nothing_was_seen_may_yet_be_the_fastest() -> None:
    plain = [one for one in SPACE if one.policy.is_float32 and one.xla is Xla.OFF and one.steps_per_execution == 1]
    speedups = {one: factors(one) for one in plain}
    most = max(speedups.values())
    unseen = replace(OWN, batch_size=128, policy=Policy("mixed_bfloat16"))
    assert likeliest(speedups, [unseen], most) == unseen, "by its batch it has two thirds, but who knows"
    slow = {replace(OWN, policy=unseen.policy): 0.5, replace(OWN, policy=unseen.policy, batch_size=64): 0.75}
    assert likeliest(speedups | slow, [unseen], most) is None


def test_what_is_left_is_at_most_what_its_settings_gained() -> None:
    speedups = {one: factors(one) for one in [OWN, *alone()]}
    left = [one for one in SPACE if factors(one) < 1.6 and one not in speedups]
    assert max(map(factors, left)) < at_most(speedups, left) < factors(BEST)
    assert at_most(speedups, left[:1]) <= at_most(speedups, left)


@pytest.mark.parametrize("count", range(FEWEST))
def test_too_little_tells_nothing(count: int) -> None:
    assert likeliest({one: factors(one) for one in alone()[:count]}, SPACE, 1.0) is None


def test_many_measured_candidates_are_left_to_the_sampler() -> None:
    speedups = {replace(OWN, batch_size=32 + number): 1.0 for number in range(MOST + 1)}
    assert likeliest(speedups, SPACE, 1.0) is None
