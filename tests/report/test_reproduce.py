from __future__ import annotations

import html
import shlex
from dataclasses import replace

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser

from autotune.record.events import StudyResumed, StudyStarted
from autotune.record.view import StudyView
from autotune.report import reproduce
from autotune.report.answer import answer
from autotune.report.page.document import report_page
from autotune.report.page.method import reproduce_section
from autotune.report.summary import summary_markdown
from tests.report.hostile import hostile_events
from tests.sample_study import sample_events


def rows(**options: bool) -> dict[str, str]:
    return dict(reproduce.rows(StudyView.of(sample_events(**options))))


def test_all_that_another_machine_needs():
    told = rows()
    assert told["command"] == "python -m autotune model=cifar_mlp hw=rtx3090"
    assert told["started"] == "2026-03-01 10:15 UTC"
    assert "tensorflow 2.21.0" in told["versions"]
    assert "optuna 5.0.0" in told["versions"]
    assert told["device"] == "NVIDIA GeForce RTX 3090"
    assert "45,000 training, 5,000 validation and 10,000 test examples of 32 x 32 x 3" in told["data"]
    assert told["seeds"] == "baseline 0, 1, 2; verify 0, 1; confirm 100, 101, 102"
    assert told["record"] == "/studies/cifar_mlp-rtx3090/record.jsonl"
    assert told["this report again"].endswith("task=report study.folder=/studies/cifar_mlp-rtx3090")


CHANGED = ("search.budget was 6m and is 3h", "package optuna was 5.0.0 and is 5.1.0")
COMMAND = "python -m autotune model=cifar_mlp search.budget=3h study.resume=true study.accept_changes=true"


def test_each_later_session_is_told_with_its_command_and_what_had_changed():
    events = sample_events()
    later = (
        StudyResumed(1772370000.0, 200.0, (), None, (), "python -m autotune study.resume=true"),
        StudyResumed(1772380000.0, 300.0, (), None, CHANGED, COMMAND),
    )
    view = StudyView.of([*events[:30], *later, *events[30:]])
    told = dict(reproduce.rows(view))
    assert told["command"] == "python -m autotune model=cifar_mlp hw=rtx3090"
    assert told["session 2"].startswith("started 2026-03-01 13:00 UTC after 3:20")
    assert told["session 2"].endswith("; command: python -m autotune study.resume=true")
    assert f"since the first session {'; '.join(CHANGED)}" in told["session 3"]
    assert told["session 3"].endswith(f"; command: {COMMAND}")
    [warning] = answer(view).warnings
    assert all(change in warning for change in CHANGED)
    assert "The whole configuration of the first session" in reproduce_section(view)


def test_a_study_that_went_on_unchanged_needs_no_warning():
    resumed = StudyResumed(1772370000.0, 200.0, (), None, (), "python -m autotune study.resume=true")
    view = StudyView.of([*sample_events(), resumed])
    assert answer(view).warnings == ()
    assert "of the first session" not in reproduce_section(view)


def test_stand_in_data_is_called_so():
    assert rows(stand_in=True)["data"].startswith("STAND-IN, digits stand-in")


def test_what_identifies_the_device_is_told():
    fingerprint = {"kind": "cpu", "name": "CPU", "flags": ["avx2", "fma"], "memory": {"total": 8}, "driver": None}
    events = [
        replace(event, device={"name": "CPU", "fingerprint": fingerprint}) if isinstance(event, StudyStarted) else event
        for event in sample_events()
    ]
    assert dict(reproduce.rows(StudyView.of(events)))["device"] == "CPU; flags avx2 fma; memory total 8"


def test_the_configuration_is_yaml_that_reads_back():
    view = StudyView.of(sample_events())
    assert view.started is not None
    assert yaml.safe_load(reproduce.configuration(view)) == view.started.config


def test_a_folder_with_a_space_is_one_word_of_the_command():
    assert shlex.split(reproduce.again("/my studies/one"))[-2:] == ["task=report", "study.folder='/my studies/one'"]


def test_two_spaces_in_a_row_stay_two_in_all_that_is_pasted():
    folder = "/my  studies/one"
    view = StudyView.of(sample_events(output_dir=folder))
    summary, page = summary_markdown(view), html.unescape(report_page(view))
    for command in (reproduce.again(folder), answer(view).command):
        assert command is not None
        assert folder in command
        assert command in summary
        assert command in page


@pytest.mark.parametrize("name", ["größe", "a(1)", "a=b", "a,b", "[x]", "it's", "~x", "#1", "${x}", "plain-1.2"])
def test_the_command_names_the_folder_whatever_it_is_called(name):
    folder = f"/my studies/{name}"
    parsed = OverridesParser.create().parse_override(shlex.split(reproduce.again(folder))[-1])
    assert parsed.value() == folder.replace("${", "\\${"), "escaped where it would be an interpolation"


def test_credentials_in_the_configuration_are_hidden():
    events = sample_events()
    config = {**events[0].config, "data": {"args": {"url": "https://bob:hunter22@host/x.npz"}}}
    view = StudyView.of([replace(events[0], config=config), *events[1:]])
    assert "hunter22" not in reproduce.configuration(view)
    assert "https://***@host/x.npz" in reproduce.configuration(view)


def test_nothing_of_others_breaks_a_line():
    view = StudyView.of(hostile_events())
    assert all(label.isprintable() and text.isprintable() for label, text in reproduce.rows(view))
    assert all(line.isprintable() for line in reproduce.configuration(view).split("\n"))


def test_before_a_study_has_started_there_is_nothing():
    assert (reproduce.rows(StudyView()), reproduce.configuration(StudyView())) == ([], "")
