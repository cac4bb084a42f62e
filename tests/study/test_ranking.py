"""Best first, and the simpler of those that are as good."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.record.view import TrialView
from autotune.study.ranking import best_first, departures
from autotune.trial import Candidate, Interval, Policy, Xla

BASELINE = PLAIN = Candidate(Policy("float32"), 32, Xla.OFF, (96, 64))


def trial(number: int, gain: float, **changed: object) -> TrialView:
    found = TrialView(number, replace(PLAIN, **changed))
    found.speedup = Interval(gain, gain * 0.97, gain * 1.03, 0.95, 10, "made up")
    return found


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, 0),
        ({"xla": Xla.ON}, 1),
        ({"policy": Policy("mixed_bfloat16")}, 1),
        ({"batch_size": 64, "steps_per_execution": 8}, 2),
        ({"policy": Policy("mixed_bfloat16"), "batch_size": 64, "widths": (96, 96), "xla": Xla.ON}, 4),
    ],
)
def test_departures_count_what_a_person_would_have_to_change(changed: dict[str, object], expected: int) -> None:
    assert departures(replace(PLAIN, **changed), BASELINE) == expected


def test_on_a_gpu_where_the_users_own_steps_run_with_xla_to_be_without_departs() -> None:
    own = replace(BASELINE, xla=Xla.ON)
    assert departures(replace(PLAIN, xla=Xla.ON), own) == 0
    assert departures(PLAIN, own) == 1


def test_clear_differences_are_ordered_by_speed_alone() -> None:
    slow = trial(1, 1.2)
    fast = trial(2, 1.5, xla=Xla.ON, batch_size=64, steps_per_execution=8)
    assert [found.number for found in best_first([slow, fast], BASELINE, 1.02)] == [2, 1]


def test_of_those_within_a_tie_the_simplest_comes_first_and_the_others_stay_ordered() -> None:
    trials = [
        trial(1, 1.500, xla=Xla.ON, batch_size=64),
        trial(2, 1.490, batch_size=64),
        trial(3, 1.495, steps_per_execution=8, xla=Xla.ON, batch_size=64),
        trial(4, 1.200),
    ]
    assert [found.number for found in best_first(trials, BASELINE, 1.02)] == [2, 1, 3, 4]


def test_a_tie_is_measured_from_the_best_and_does_not_chain() -> None:
    """1.00 ties with 1.015, and 1.015 with 1.03, but 1.00 does not tie with 1.03."""
    trials = [trial(1, 1.03, xla=Xla.ON), trial(2, 1.015, xla=Xla.ON), trial(3, 1.00)]
    assert [found.number for found in best_first(trials, BASELINE, 1.02)] == [1, 3, 2]


def test_without_a_tie_only_speed_counts() -> None:
    trials = [trial(1, 1.500), trial(2, 1.501, xla=Xla.ON)]
    assert [found.number for found in best_first(trials, BASELINE, 1.0)] == [2, 1]
