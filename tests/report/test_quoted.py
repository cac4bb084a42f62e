from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.record.view import StudyView
from autotune.report import quoted
from autotune.report.objective import Goal
from autotune.trial import Failure, FailureKind, Interval, TimingVerdict
from tests.sample_study import WINNER, sample_events


def rows(**variant: object) -> dict[str, str]:
    view = StudyView.of(sample_events(**variant))  # type: ignore[arg-type]
    return dict(quoted.confirmed(view, view.trials[WINNER]))


def test_the_accuracy_says_what_the_interval_holds_and_what_not():
    assert rows()["accuracy"] == (
        "-0.18 pp [-0.52, +0.16] over 3 new paired seeds (95.5 %; the worst seed -0.30 pp), PASS at a margin of"
        " 1.00 pp: 44.07 % against 44.25 %; the validation part of 5,000 adds a sampling error of 0.31 pp, not in"
        " the interval"
    )
    assert "PASS at a margin of 2 % of float32's own (0.89 pp)" in rows(relative=True)["accuracy"]


def test_an_unknown_sampling_error_is_not_mentioned():
    view = StudyView.of(sample_events())
    winner = view.trials[WINNER]
    assert winner.confirmation is not None
    assert winner.confirmation.accuracy is not None
    accuracy = replace(winner.confirmation.accuracy, sampling_error=None)
    winner.confirmation = replace(winner.confirmation, accuracy=accuracy)
    assert "sampling" not in dict(quoted.confirmed(view, winner))["accuracy"]


def test_throughput_has_one_row_and_another_objective_one_more_that_leads():
    assert next(iter(rows())) == "speed"
    energy = rows(objective="energy")
    assert list(energy)[:2] == ["energy", "speed"]
    assert energy["energy"].startswith("4.04x [3.94, 4.14] (95 %, t interval over 3 fresh processes), BETTER")
    assert energy["energy"].endswith("0.00344 J/example against 0.0139 J/example")
    assert rows(objective="time_to_accuracy")["time to accuracy"].endswith("FASTER; 1.48 s against 3.49 s")


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.07, "7 % [5, 9] of a step: compute-bound"),
        (0.21, "21 % [19, 23] of a step: too uncertain to call"),
        (0.23, "23 % [21, 25] of a step: input-bound"),
    ],
)
def test_a_step_that_waits_for_its_input_is_called_input_bound(share: float, text: str):
    found = Interval(share, share - 0.02, share + 0.02, 0.95, 12, "pairs")
    assert quoted.pipeline(found, "a step") == f"the input pipeline takes {text}"


def test_a_share_that_noise_pushed_below_zero_is_nothing():
    assert "takes 0 % [-1, 1]" in quoted.pipeline(Interval(-0.001, -0.012, 0.01, 0.95, 12, "pairs"), "a step")


def test_finalists_that_were_compared_say_which_is_first_and_why():
    event = StudyView.of(sample_events()).comparisons[0]
    expected = "trial 4 against trial 5 in one process: 1.18x [1.16, 1.20] FASTER: trial 4 goes first, it is faster"
    assert quoted.comparison(event) == expected


def test_a_shortfall_leads_with_the_objective():
    view = StudyView.of(sample_events(objective="energy", winner=False))
    text = quoted.shortfall(view, view.confirmations[0])
    assert text.startswith("energy BETTER 4.04x [3.94, 4.14]; speed FASTER 5.94x [5.80, 6.09]; accuracy FAIL -1.86 pp")
    assert text.endswith("float32's accuracy within the margin not reached on 3 of 3 seeds")


def test_seeds_needed_are_seeds_in_all():
    view = StudyView.of(sample_events())
    text = quoted.shortfall(view, view.confirmations[1])
    assert text.endswith(
        "INCONCLUSIVE -0.50 pp [-1.60, +0.60] at a margin of 1.00 pp (about 7 seeds in all would decide it)"
    )


def test_a_failure_while_confirming_quotes_nothing():
    view = StudyView.of(sample_events())
    failed = replace(view.confirmations[0], failure=Failure(FailureKind.OOM, "no memory"))
    assert quoted.shortfall(view, failed) == "failed, oom: no memory"


def test_less_energy_is_better_and_not_faster():
    goal = Goal.of(StudyView.of(sample_events(objective="energy")))
    assert [goal.word(verdict) for verdict in TimingVerdict] == ["BETTER", "WORSE", "SAME", "UNCLEAR"]
    assert Goal.of(StudyView()).word(TimingVerdict.FASTER) == "FASTER"
