"""Which of two candidates beats the other, by what was measured of both."""

from __future__ import annotations

import pytest

from autotune.decide.dominance import Measured, beats, is_faster, out_of_reach
from autotune.trial import Interval

MARGIN = 0.01


def measured(speedup: float, *deltas: float, half: float = 0.05) -> Measured:
    interval = Interval(speedup, speedup - half, speedup + half, 0.95, 10, "made up")
    return Measured(interval, dict(enumerate(deltas)))


def test_faster_is_what_the_whole_interval_says():
    slow, close, fast = (measured(value).speedup for value in (1.0, 1.08, 1.2))
    assert is_faster(fast, slow)
    assert not is_faster(close, slow), "the intervals overlap"
    assert not is_faster(slow, fast)


@pytest.mark.parametrize(
    ("own", "gone"),
    [
        ((-0.0201,), True),  # behind by more than a margin for each of the two seeds that are left
        ((-0.0199,), False),
        ((-0.005, -0.0051), True),  # one seed is left
        ((-0.005, -0.0049), False),
        ((0.03,), False),
        ((-0.5, -0.5, -0.5), False),  # nothing is left to train: it has its accuracy
    ],
)
def test_out_of_reach_is_more_than_a_margin_on_each_seed_that_is_left(own, gone):
    assert out_of_reach(measured(1.5, *own), measured(2.0, 0.0, 0.0, 0.0), MARGIN) is gone


def test_nothing_is_out_of_reach_of_one_that_is_not_clearly_faster():
    far_behind, other = (-0.5,), (0.0, 0.0, 0.0)
    assert not out_of_reach(measured(1.5, *far_behind), measured(1.55, *other), MARGIN)
    assert not out_of_reach(measured(2.0, *far_behind), measured(1.0, *other), MARGIN)


def test_it_beats_one_that_is_slower_and_shown_to_be_no_more_accurate_within_the_margin():
    one = measured(2.0, 0.001, 0.002, 0.0)
    assert beats(one, measured(1.5, 0.0, 0.0, 0.001), MARGIN)
    assert not beats(measured(1.5, 0.0, 0.0, 0.001), one, MARGIN), "it is the slower one"


def test_it_beats_none_that_is_more_accurate_or_of_which_the_seeds_do_not_tell():
    one = measured(2.0, 0.001, 0.002, 0.0)
    assert not beats(one, measured(1.5, 0.021, 0.023, 0.02), MARGIN), "two points more accurate"
    assert not beats(one, measured(1.5, -0.03, 0.03, 0.0), MARGIN), "the seeds disagree"
    assert not beats(one, measured(1.5, 0.0), MARGIN), "one common seed shows nothing"


def test_differences_are_paired_by_seed():
    """Both vary by ten points over seeds, and by nothing against one another."""
    one, other = measured(2.0, 0.05, -0.05, 0.0), measured(1.5, 0.0501, -0.0501, 0.0)
    assert beats(one, other, MARGIN)
