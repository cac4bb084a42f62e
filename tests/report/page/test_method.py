from __future__ import annotations

import re

import pytest

from autotune.explain.findings import Finding, Severity
from autotune.record.view import StudyView
from autotune.report import summary
from autotune.report.page import method
from autotune.report.summary import summary_markdown
from tests.report.hostile import EVIL
from tests.sample_study import sample_events

FOUND = (
    Finding("output-16-bit", Severity.PROBLEM, "dense_2", "the output is float16", 'give dense_2 dtype="float32"'),
    Finding("host-bound", Severity.WARNING, "", EVIL, "train.batch_size=512"),
)


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> StudyView:
    """The sample study, whose model has two faults."""
    for shown in (method, summary):
        monkeypatch.setattr(shown, "findings_of", lambda view: FOUND)
    return StudyView.of(sample_events())


def test_a_finding_tells_severity_layer_why_and_fix(view: StudyView):
    first, second = method.findings_section(view).split("<article")[1:]
    assert re.findall(r'class="severity">(\w+)<', first) == ["PROBLEM"]
    assert "output-16-bit in dense_2" in first
    assert "<p>the output is float16</p>" in first
    assert "<code>give dense_2 dtype=&quot;float32&quot;</code>" in first
    assert " in <" not in second, "it is of the model as a whole"
    assert "<script>" not in second


def test_the_summary_tells_the_same_in_its_own_words(view: StudyView):
    lines = summary_markdown(view).split("## Findings in the model\n\n")[1].splitlines()
    assert (
        lines[0] == '- **PROBLEM** output-16-bit in dense_2: the output is float16. Fix: give dense_2 dtype="float32"'
    )
    assert lines[1].startswith("- **WARNING** host-bound: ")
    assert "<script>" not in lines[1]
    assert "## Findings" not in summary_markdown(view, brief=True)


def test_a_model_that_was_not_looked_into_has_no_such_part(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(method, "findings_of", lambda view: ())
    assert method.findings_section(StudyView.of(sample_events())) == ""


def test_the_targets_own_ranking_is_called_predicted():
    section = method.predicted_section(StudyView.of(sample_events(on_target=False)))
    assert "PREDICTED, not measured: roofline from published peaks." in section
    assert section.count("<tr>") == 1 + 5
    assert method.predicted_section(StudyView.of(sample_events())) == ""


def test_tables_of_timing_and_trainings_open_on_demand():
    section = method.method_section(StudyView.of(sample_events()))
    assert section.count("<details>") == 2
    assert "not reached on 2 of 2 seeds" in section
    assert "36 pairs of blocks in 3 fresh processes" in section


def test_the_configuration_keeps_its_lines():
    section = method.reproduce_section(StudyView.of(sample_events()))
    assert "\nmodel:\n  name: cifar_mlp\n" in section


def test_nothing_before_anything_was_measured():
    empty = StudyView()
    for part in (method.method_section, method.reproduce_section, method.left_out_section, method.findings_section):
        assert part(empty) == ""
