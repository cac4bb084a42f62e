"""What a trial showed, by the stage that measured it."""

from __future__ import annotations

from autotune.record.view import StudyView, TrialView
from autotune.report import figures
from autotune.trial import Stage
from tests.sample_study import WINNER, sample_events


def winner() -> TrialView:
    return StudyView.of(sample_events()).trials[WINNER]


def test_an_interval_is_of_the_same_seeds_as_the_difference_beside_it() -> None:
    """A study that ended within its confirmation has later seeds than those that the gate has judged."""
    trial = winner()
    trial.confirmation = None
    assert trial.delta(Stage.CONFIRM) is not None
    assert figures.delta(trial) == trial.delta(Stage.CONFIRM)
    assert figures.delta_interval(trial) is None
