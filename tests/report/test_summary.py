from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from markdown_it import MarkdownIt

from autotune.explain.why import why
from autotune.record.events import Note, TrialFailed
from autotune.record.view import StudyView
from autotune.report.summary import summary_markdown
from autotune.trial import Failure, FailureKind
from tests.report.hostile import hostile_events
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
    tables: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("## "):
            title = line
        elif line.startswith("|"):
            tables.setdefault(title, []).append(line.replace("\\|", ""))
    assert len(tables["## Trials"]) == 2 + 9
    assert len(tables) == 3
    assert all(len({line.count("|") for line in table}) == 1 for table in tables.values())


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


def test_how_it_was_measured_stands_below_the_trials_and_the_tables_below_that():
    text = summary_markdown(StudyView.of(sample_events()))
    titles = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        *("Where the speedup comes from", "Trials", "Why each trial ended as it did", "How it was measured"),
        *("Timing, compilation apart", "Trainings", "Failures", "Left out of the search", "How to reproduce it"),
    ]


def test_compilation_stands_apart_from_the_step():
    lines = summary_markdown(StudyView.of(sample_events())).split("## T")[2].splitlines()
    header, _, *rows = (line.strip("| ").split(" | ") for line in lines if line.startswith("|"))
    timed = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert timed["1"]["first step s"] == "0.900"
    assert timed["1"]["compile s"] == "0.898"
    assert (timed["5"]["pairs"], timed["5"]["disturbed"]) == ("36", "0"), "confirmed"
    assert (timed["0"]["pairs"], timed["0"]["input pipeline"]) == ("12 blocks", "7 % [7, 8]")
    assert "6" not in timed, "it failed before it was timed"


def test_the_health_of_trainings_is_a_table():
    lines = summary_markdown(StudyView.of(sample_events())).split("## Trainings")[1].splitlines()
    row = next(line for line in lines if line.startswith("| 3 |"))
    assert "not reached on 2 of 2 seeds | 16384 | 8192 | 4 (4 %) | 0 | 99.9 % |" in row


def test_a_place_of_little_room_gets_no_tables_of_timing():
    brief = summary_markdown(StudyView.of(sample_events()), brief=True)
    assert "## How it was measured" in brief
    assert "## Timing" not in brief


def test_the_answer_stands_within_the_first_ten_lines_warnings_included():
    view = StudyView.of(sample_events(on_target=False, stand_in=True))
    head = "\n".join(summary_markdown(view).splitlines()[:10])
    for words in (
        "Use trial 4",
        "RTX 3090",
        "off target",
        "handwritten digits",
        "5.94x [5.80, 6.09]",
        "batch 256 (was 32)",
    ):
        assert words in head


@pytest.mark.parametrize("variant", [{}, {"winner": False}, {"interrupted": True}, {"objective": "energy"}], ids=str)
@pytest.mark.parametrize("make", [sample_events, hostile_events])
def test_it_is_the_markdown_that_github_reads(make, variant: dict[str, Any]):
    view = StudyView.of(make(**variant))
    parsed = MarkdownIt("commonmark").enable("table").parse(summary_markdown(view, ["a | remark"]))
    kinds = Counter(token.type for token in parsed)
    assert kinds["table_open"] == 3
    assert not {"html_block", "html_inline"} & set(kinds)
    inline = [child.type for token in parsed for child in token.children or ()]
    assert not {"link_open", "image", "html_inline"} & set(inline)
    assert inline.count("code_inline") == 4, "the words of the reading, and nobody else's"
    [title] = [token for token in parsed if token.type == "heading_open" and token.tag == "h1"]
    assert title.map == [0, 1]
    rows = sum(token.type == "tr_open" for token in parsed)
    assert rows >= 3 + len(view.trials)


def test_each_trial_has_its_reason_and_a_place_of_little_room_has_none():
    view = StudyView.of(sample_events())
    lines = summary_markdown(view).split("## Why each trial ended as it did")[1].split("\n## ")[0].splitlines()
    told = dict(line.removeprefix("- **trial ").split("**: ", 1) for line in lines if line)
    assert told["6"].startswith("failed (compile): XLA could not compile")
    assert {number for number, trial in view.trials.items() if why(view, trial)} == set(map(int, told))
    assert "## Why" not in summary_markdown(view, brief=True)


def test_a_study_that_did_not_end_says_so_and_so_does_whoever_made_the_report():
    events = sample_events()
    text = summary_markdown(StudyView.of(events[: len(events) // 2]), ["the study is running"])
    assert "> **Warning:** the study is running\\\n> **Warning:** unfinished: the record ends in its stage" in text
    assert "**Warning:** ended early (interrupt)" in summary_markdown(StudyView.of(sample_events(interrupted=True)))
    assert "Warning" not in summary_markdown(StudyView.of(events))


def test_another_objective_leads_with_its_gain():
    text = summary_markdown(StudyView.of(sample_events(objective="energy")))
    assert text.startswith("# Use trial 4: 4.04 times as many examples per joule as float32")
    winner = next(line for line in text.splitlines() if line.startswith("| 4 | winner"))
    assert "| 4.04x [3.94, 4.14] | 5.94x [5.80, 6.09] | confirm |" in winner
    assert "energy BETTER, speed FASTER, accuracy PASS" in winner


def test_a_study_that_hardly_began_has_a_summary_too():
    assert "No answer" in summary_markdown(StudyView())
