"""Which alias an export is entitled to: the whole truth table."""

from __future__ import annotations

import itertools
import math

import pytest

from autotune.export.entitlement import alias_for, predicts_otherwise
from autotune.record.view import StudyView
from autotune.worker.protocol import Evaluation
from tests.sample_study import sample_events

EVALUATION = Evaluation(1000, 0.44, 0.44)
WORDS = ("not measured on the target", "stand-in data", "the float32 baseline")


@pytest.mark.parametrize(
    ("on_target", "stand_in", "winner"), list(itertools.product([True, False], [False, True], [True, False]))
)
def test_production_needs_the_target_real_data_and_a_winner(on_target, stand_in, winner):
    view = StudyView.of(sample_events(on_target=on_target, stand_in=stand_in, winner=winner))
    alias, reason = alias_for(view, {"model.keras": 0.0, "saved_model": 1e-3}, EVALUATION)
    against = [word for word, holds in zip(WORDS, (not on_target, stand_in, not winner), strict=True) if holds]
    assert alias == ("candidate" if against else "production")
    assert [word for word in WORDS if word in reason] == against, "every reason is told, and no other"
    assert ("task=promote" in reason) is bool(against)


@pytest.mark.parametrize(
    ("objective", "gained"),
    [("throughput", "FASTER"), ("time_to_accuracy", "FASTER in time to accuracy"), ("energy", "BETTER in energy")],
)
def test_the_reason_is_the_objectives_own(objective, gained):
    alias, reason = alias_for(StudyView.of(sample_events(objective=objective)), {}, EVALUATION)
    assert alias == "production"
    assert reason == f"measured on the target, on real data, confirmed {gained} and PASS"


def test_a_model_that_reloads_as_another_is_not_for_production():
    view = StudyView.of(sample_events())
    alias, reason = alias_for(view, {"model.keras": 0.0, "saved_model": 0.2}, EVALUATION)
    assert alias == "candidate"
    assert "predicts otherwise (saved_model)" in reason
    assert predicts_otherwise({"a": 0.04, "b": 0.06, "c": math.nan}) == ["b", "c"]


def test_a_model_without_a_usable_metric_on_the_test_part_is_not_for_production():
    alias, reason = alias_for(StudyView.of(sample_events()), {}, Evaluation(1000, None, 0.44))
    assert alias == "candidate"
    assert reason.startswith("its metric on the test part is not finite: ")
