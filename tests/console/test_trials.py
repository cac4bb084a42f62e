from __future__ import annotations

import pytest
from rich.console import Console

from autotune.console.trials import TrialTable
from autotune.record.events import StudyDecided
from autotune.record.view import StudyView
from tests.console.screen import Terminal
from tests.sample_study import sample_events


def draw(width: int, view: StudyView | None = None) -> list[str]:
    console = Console(file=Terminal(), width=width, color_system=None)
    with console.capture() as captured:
        console.print(TrialTable(view or StudyView.of(sample_events())))
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 140, 160, 200])
def test_no_figure_loses_a_digit_at_any_width(width: int):
    lines = draw(width)
    assert all(len(line) <= width for line in lines)
    (winner,) = [line for line in lines if line.startswith("4  ")]
    for whole in ("winner", "5.94x", "-0.18 pp"):
        assert whole in winner


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (40, "# state speedup delta"),
        (60, "# state policy batch speedup delta"),
        (80, "# state policy batch XLA ms/step speedup accuracy delta"),
        (140, "# state policy batch XLA widths steps/call ms/step examples/s speedup accuracy delta verdict"),
    ],
)
def test_a_narrow_terminal_has_fewer_columns(width: int, titles: str):
    assert draw(width)[0].split() == titles.split()


def test_a_speed_from_screening_is_marked_and_a_confirmed_one_is_not():
    rows = {line.split()[0]: line for line in draw(200) if line[:1].isdigit()}
    assert "~3.91x [3.84, 3.98]" in rows["2"]
    assert " 5.94x [5.80, 6.09]" in rows["4"]
    assert "~ from screening" in "\n".join(draw(200))


@pytest.mark.parametrize(
    ("width", "there"), [(40, False), (80, False), (99, False), (100, True), (140, True), (180, True)]
)
def test_an_absent_targets_prediction_has_a_column_where_there_is_room(width: int, there: bool):
    lines = draw(width, StudyView.of(sample_events(on_target=False)))
    assert ("predicted" in lines[0]) is there
    assert ("predicted: on the target, not measured" in " ".join(lines)) is there
    (winner,) = [line for line in lines if line.startswith("4  ")]
    assert "5.94x" in winner
    assert ("6.11x" in winner) is there
    assert all(len(line) <= width for line in lines)


def test_on_its_target_nothing_is_predicted():
    assert "predicted" not in draw(180)[0]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 140, 160, 200])
@pytest.mark.parametrize(("objective", "gain"), [("energy", "4.04x"), ("time_to_accuracy", "2.36x")])
def test_another_objective_leads_at_any_width(width: int, objective: str, gain: str):
    lines = draw(width, StudyView.of(sample_events(objective=objective)))
    assert all(len(line) <= width for line in lines)
    (winner,) = [line for line in lines if line.startswith("4  ")]
    assert gain in winner
    if "speedup" in lines[0]:
        assert winner.index(gain) < winner.index("5.94x")


def test_the_last_comparison_of_finalists_stands_below_the_table_until_the_decision():
    events = sample_events()
    decided = next(i for i, event in enumerate(events) if isinstance(event, StudyDecided))
    text = "trial 4 against trial 5 in one process: 1.18x [1.16, 1.20] FASTER"
    assert any(line.startswith(text) for line in draw(140, StudyView.of(events[:decided])))
    assert not any(line.startswith(text) for line in draw(140))


def test_where_no_column_says_why_a_trial_failed_a_line_does():
    assert any(line.startswith("6 failed, compile: XLA could not") for line in draw(80))
    assert not any(line.startswith("6 failed,") for line in draw(140))


def test_a_study_without_trials_draws_a_head():
    assert "speedup" in draw(80, StudyView())[0]
