"""What a speedup is made of, worked out by hand from trials with made-up speedups."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from autotune.explain.ablation import decompose, factor
from autotune.record import events as ev
from autotune.record.view import StudyView
from autotune.trial import Interval, TrialState, Xla
from tests.explain.studies import candidate, study
from tests.sample_study import SPEEDUP, WINNER, sample_events
from tests.sample_values import BF16, F16


def steps_of(view: StudyView) -> list[tuple[str, float]]:
    found = decompose(view)
    assert found is not None
    return [(step.change, round(step.ratio, 6)) for step in found.steps]


def test_a_path_of_single_changes_is_one_factor_each_and_multiplies_to_the_whole() -> None:
    view = study(
        (candidate(batch_size=128), 2.0),
        (candidate(batch_size=128, policy=BF16), 3.0),
        (candidate(batch_size=128, policy=BF16, steps_per_execution=8), 3.6),
    )
    assert steps_of(view) == [
        ("batch 32 -> 128", 2.0),
        ("policy float32 -> mixed_bfloat16", 1.5),
        ("steps per execution 1 -> 8", 1.2),
    ]
    found = decompose(view)
    assert found is not None
    assert [(step.trial, step.against) for step in found.steps] == [(1, 0), (2, 1), (3, 2)]
    assert [step.settings for step in found.steps] == [("batch",), ("policy",), ("steps per execution",)]
    assert found.whole == view.trials[3].speedup
    assert found.rest == pytest.approx(1.0)
    assert found.missing == ()


def test_the_interval_of_a_quotient_adds_the_distances_as_squares() -> None:
    view = study((candidate(batch_size=128), 2.0, 0.03), (candidate(batch_size=128, policy=BF16), 3.0, 0.04))
    found = decompose(view)
    assert found is not None
    against_baseline, quotient = found.steps
    assert (against_baseline.low, against_baseline.high) == pytest.approx((2.0 / 1.03, 2.0 * 1.03))
    off = math.hypot(math.log(1.03), math.log(1.04))
    assert (quotient.low, quotient.high) == pytest.approx((1.5 * math.exp(-off), 1.5 * math.exp(off)))


def test_a_lopsided_interval_is_taken_from_its_other_end() -> None:
    view = study((candidate(batch_size=128), 2.0), (candidate(batch_size=128, policy=BF16), 3.0))
    one, other = view.trials[1], view.trials[2]
    one.speedup = Interval(2.0, 1.0, 2.0, 0.95, 12, "only downwards")
    other.speedup = Interval(3.0, 3.0, 3.0, 0.95, 12, "exact")
    found = factor(other, one)
    assert (found.ratio, found.low, found.high) == pytest.approx((1.5, 1.5, 3.0))


def test_where_no_trial_lies_between_a_step_names_both_settings_and_what_is_missing() -> None:
    view = study((candidate(batch_size=128, policy=BF16), 3.0))
    assert steps_of(view) == [("policy float32 -> mixed_bfloat16, batch 32 -> 128", 3.0)]
    found = decompose(view)
    assert found is not None
    assert found.missing == (
        "policy: no two trials that were timed to the end differ in it alone",
        "batch: no two trials that were timed to the end differ in it alone",
    )


def test_a_setting_that_a_pair_elsewhere_shows_alone_is_not_missing() -> None:
    view = study(
        (candidate(batch_size=512), 2.0),
        (candidate(batch_size=512, policy=BF16), 2.5),
        (candidate(batch_size=128, policy=BF16), 3.0),
    )
    found = decompose(view)
    assert found is not None
    assert [step.settings for step in found.steps] == [("policy", "batch")]
    assert found.missing == (), "trials 1 and 2 differ in the policy alone, 2 and 3 in the batch"


def test_neighbouring_steps_of_one_setting_are_one() -> None:
    view = study(
        (candidate(batch_size=64), 1.5),
        (candidate(batch_size=128), 2.0),
        (candidate(batch_size=128, xla=Xla.ON), 2.2),
    )
    assert steps_of(view) == [("batch 32 -> 128", 2.0), ("XLA off -> on", 1.1)]


def test_the_path_that_shows_most_settings_alone_is_taken() -> None:
    """Over trial 1 two and two settings change together; over trial 2, which is less exact, one changes alone."""
    view = study(
        (candidate(steps_per_execution=8, policy=BF16), 1.4, 0.01),
        (candidate(batch_size=128), 2.0, 0.2),
        (candidate(batch_size=128, policy=BF16, steps_per_execution=8, xla=Xla.ON), 3.0),
    )
    assert steps_of(view) == [
        ("batch 32 -> 128", 2.0),
        ("policy float32 -> mixed_bfloat16, XLA off -> on, steps per execution 1 -> 8", 1.5),
    ]


def test_of_equal_paths_the_more_exact_trials_are_taken() -> None:
    end = candidate(batch_size=128, policy=BF16)
    trials = [(candidate(batch_size=128), 2.0, 0.02), (candidate(policy=BF16), 1.2, 0.30), (end, 3.0)]
    assert [change for change, _ in steps_of(study(*trials))] == ["batch 32 -> 128", "policy float32 -> mixed_bfloat16"]
    trials[0], trials[1] = (*trials[0][:2], 0.30), (*trials[1][:2], 0.02)
    assert [change for change, _ in steps_of(study(*trials))] == ["policy float32 -> mixed_bfloat16", "batch 32 -> 128"]


def test_layers_that_a_policy_leaves_in_float32_are_another_policy() -> None:
    mixed = replace(BF16, float32_layers=("class",))
    view = study((candidate(batch_size=128), 2.0), (candidate(batch_size=128, policy=mixed), 2.5))
    assert steps_of(view)[1] == ("policy float32 -> mixed_bfloat16 (float32: class)", 1.25)


def test_a_smaller_batch_is_a_path_too() -> None:
    view = study(
        (candidate(batch_size=16), 0.8),
        (candidate(batch_size=8), 0.7),
        (candidate(batch_size=8, steps_per_execution=8), 1.4),
    )
    assert steps_of(view) == [("batch 32 -> 8", 0.7), ("steps per execution 1 -> 8", 2.0)]


def test_a_trial_beside_the_way_is_no_step() -> None:
    """A batch beyond the winner's, and a policy that is neither float32 nor the winner's."""
    view = study(
        (candidate(batch_size=512), 4.0),
        (candidate(batch_size=128, policy=F16), 2.0),
        (candidate(batch_size=128, steps_per_execution=8), 3.0),
    )
    assert [step for step, _ in steps_of(view)] == ["batch 32 -> 128, steps per execution 1 -> 8"]


def test_a_trial_that_was_given_up_early_is_no_evidence_and_is_named_where_it_would_be() -> None:
    view = study((candidate(batch_size=128), 2.0), (candidate(batch_size=128, policy=BF16), 3.0))
    found = view.trials[1].probe
    assert found is not None
    view.trials[1].probe = replace(found, hopeless_below=2.5)
    decomposed = decompose(view)
    assert decomposed is not None
    assert [step.settings for step in decomposed.steps] == [("policy", "batch")]
    assert decomposed.missing[0] == (
        "policy: no two trials that were timed to the end differ in it alone; trials 2 and 1 do, of which one was given"
        " up early as clearly slower"
    )


def test_a_failed_trial_is_no_evidence() -> None:
    view = study((candidate(batch_size=128), 2.0), (candidate(batch_size=128, policy=BF16), 3.0))
    view.trials[1].state = TrialState.FAILED
    assert [step for step, _ in steps_of(view)] == ["policy float32 -> mixed_bfloat16, batch 32 -> 128"]


def test_without_a_winner_it_is_the_fastest_trial() -> None:
    view = study((candidate(batch_size=128), 2.0), (candidate(policy=BF16), 0.6))
    view.apply(ev.StudyDecided(0, "none", None, 1.0))
    assert steps_of(view) == [("batch 32 -> 128", 2.0)]


def test_nothing_timed_is_nothing_to_take_apart() -> None:
    assert decompose(StudyView()) is None
    assert decompose(study()) is None
    assert decompose(study((candidate(), 1.0))) is None, "it differs from the baseline in nothing"


def test_the_sample_study_is_taken_apart_from_screening() -> None:
    view = StudyView.of(sample_events())
    found = decompose(view)
    assert found is not None
    assert found.whole is not None
    assert found.whole.estimate == SPEEDUP[WINNER][0], "not the confirmation's 5.94"
    assert math.prod(step.ratio for step in found.steps) == pytest.approx(SPEEDUP[WINNER][0])
    assert found.steps[1].ratio == pytest.approx(3.91 / 3.10)
    assert found.steps[1].settings == ("policy",)
