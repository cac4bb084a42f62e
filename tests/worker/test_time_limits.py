"""How long a request may take."""

from __future__ import annotations

from autotune.worker.time_limits import TimeLimits
from tests.worker import people

CANDIDATE = people.candidate()
RECIPE = people.recipe(CANDIDATE, people.config())  # 24 steps


def test_a_first_load_may_download_and_a_later_one_takes_about_as_long_as_it_did() -> None:
    limits = TimeLimits(300.0)
    assert limits.load_s == 3600
    limits.loaded(2.0)
    assert limits.load_s == 300
    limits.loaded(90.0)  # only the first counts: later ones find the same or less to do
    assert limits.load_s == 300
    slow = TimeLimits(300.0)
    slow.loaded(60.0)
    assert slow.load_s == 1200
    assert TimeLimits(10_000.0).load_s == 10_000


def test_a_training_may_take_many_times_what_its_steps_let_expect() -> None:
    limits = TimeLimits(300.0)
    assert limits.training_s(CANDIDATE, RECIPE) is None
    limits.probed(CANDIDATE, 1.0)
    assert limits.training_s(CANDIDATE, RECIPE) == 300
    limits.probed(CANDIDATE, 1000.0)
    assert limits.training_s(CANDIDATE, RECIPE) == 20 * RECIPE.total_steps


def test_what_follows_a_training_may_take_as_long_as_it_did() -> None:
    limits = TimeLimits(300.0)
    assert limits.after_training_s == 300
    limits.answered(20.0)
    limits.answered(4000.0)
    limits.answered(7.0)
    assert limits.after_training_s == 4000
