from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.record.events import Note, TrialFailed
from autotune.record.view import StudyView
from autotune.report.summary import summary_markdown
from autotune.trial import Failure, FailureKind
from tests.sample_study import sample_events


def test_the_answer_comes_first():
    text = summary_markdown(StudyView.of(sample_events()))
    assert text.startswith("# Use trial 4: 5.94 times as fast as float32")
    assert text.index("--config-name best") < text.index("## Trials")


def test_the_table_says_which_stage_a_speed_comes_from():
    lines = summary_markdown(StudyView.of(sample_events())).splitlines()
    winner = next(line for line in lines if line.startswith("| 4 |"))
    dominated = next(line for line in lines if line.startswith("| 2 |"))
    assert "| winner |" in winner
    assert "| 5.94x [5.80, 6.09] | confirm |" in winner
    assert "| 3.91x [3.84, 3.98] | screen | - | - |" in dominated


def test_a_prediction_has_a_column_that_says_so():
    assert "predicted on the target" in summary_markdown(StudyView.of(sample_events(on_target=False)))
    assert "predicted" not in summary_markdown(StudyView.of(sample_events()))


@pytest.mark.parametrize(
    "variant", [{}, {"winner": False}, {"interrupted": True}, {"on_target": False, "stand_in": True}]
)
def test_every_row_of_the_table_has_as_many_cells_as_its_header(variant: dict[str, bool]):
    lines = summary_markdown(StudyView.of(sample_events(**variant))).splitlines()
    table = [line.replace("\\|", "") for line in lines if line.startswith("|")]
    assert len(table) == 2 + 9
    assert len({line.count("|") for line in table}) == 1


def test_text_of_others_breaks_neither_the_table_nor_the_page():
    failure = Failure(FailureKind.CRASH, "died | here\n# not a heading <script>x</script>")
    events = [replace(e, failure=failure) if isinstance(e, TrialFailed) else e for e in sample_events()]
    events.append(Note("odd", "<b>bold</b>", "warning"))
    text = summary_markdown(StudyView.of(events))
    assert "<script>" not in text
    assert "<b>" not in text
    assert "\n# not a heading" not in text
    row = next(line for line in text.splitlines() if line.startswith("| 6 |"))
    assert "died \\| here" in row


def test_a_study_that_hardly_began_has_a_summary_too():
    assert "No answer" in summary_markdown(StudyView())
