from __future__ import annotations

import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.record.events import Note, StudyStarted
from autotune.record.view import StudyView
from autotune.report.write import write_report
from tests.sample_study import sample_events


def test_four_files_with_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    files = write_report(StudyView.of(sample_events()), Path("deep/report"))
    assert set(files) == {"trials.csv", "summary.md", "report.html", "tradeoff.png"}
    assert all(path.is_absolute() and path.stat().st_size > 500 for path in files.values())


def test_the_picture_is_a_png_of_a_readable_size(tmp_path: Path):
    picture = write_report(StudyView.of(sample_events(winner=False)), tmp_path)["tradeoff.png"].read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    assert width > 900
    assert height > 600


def test_a_study_that_hardly_began_has_all_but_the_picture(tmp_path: Path):
    assert set(write_report(StudyView(), tmp_path)) == {"trials.csv", "summary.md", "report.html"}


def test_a_report_that_is_made_again_leaves_nothing_else_behind(tmp_path: Path):
    for _ in range(2):
        files = write_report(StudyView.of(sample_events()), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(files)


def test_a_study_that_ended_after_its_baseline_has_all_files(tmp_path: Path):
    events = sample_events()
    cut = next(i for i, e in enumerate(events) if isinstance(e, Note))
    assert len(write_report(StudyView.of(events[:cut]), tmp_path)) == 4


def test_names_cannot_become_markup_in_the_page(tmp_path: Path):
    evil = "</script><img src=x onerror=alert(1)>$x_"
    events = []
    for event in sample_events():
        if isinstance(event, StudyStarted):
            config = {**event.config, "model": {"name": evil}, "constraint": {"metric": evil, "margin": 0.01}}
            event = replace(event, config=config, device={"name": evil})
        events.append(event)
    view = StudyView.of([*events, Note("odd", evil, "warning")])
    page = write_report(view, tmp_path)["report.html"].read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


def test_plotting_libraries_are_not_imported_before_there_is_a_plot():
    code = (
        "import sys; import autotune.report.write, autotune.report.answer, autotune.console;"
        "heavy = {'plotly', 'matplotlib', 'numpy', 'tensorflow', 'keras', 'mlflow', 'scipy'} & set(sys.modules);"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
