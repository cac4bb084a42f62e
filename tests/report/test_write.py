from __future__ import annotations

import struct
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from autotune.record.events import Note, StudyStarted
from autotune.record.view import StudyView
from autotune.report.picture import write_tradeoff_picture
from autotune.report.tradeoff import tradeoff
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


def test_every_file_is_replaced_whole_and_never_rewritten_under_a_reader(tmp_path: Path):
    view = StudyView.of(sample_events())
    before = {name: path.read_bytes() for name, path in write_report(view, tmp_path).items()}
    with ExitStack() as readers:
        opened = {name: readers.enter_context((tmp_path / name).open("rb")) for name in before}
        write_report(StudyView.of(sample_events(winner=False)), tmp_path)
        assert {name: file.read() for name, file in opened.items()} == before


def test_long_names_stay_within_the_picture(tmp_path: Path, recwarn: pytest.WarningsRecorder):
    name = "my_very_long_model_name_" * 6 + "模型"
    first, *rest = sample_events()
    assert isinstance(first, StudyStarted)
    metric = "mean_average_precision_at_50_percent_intersection_over_union"
    config = {**first.config, "model": {"name": name}, "constraint": {"metric": metric, "margin": 0.01}}
    content = tradeoff(StudyView.of([replace(first, config=config), *rest]))
    assert content is not None
    with pytest.MonkeyPatch.context() as patch:
        saved: list[Figure] = []
        savefig = Figure.savefig
        patch.setattr(Figure, "savefig", lambda self, *a, **k: (saved.append(self), savefig(self, *a, **k)))
        write_tradeoff_picture(content, tmp_path / "tradeoff.png")
    [figure] = saved
    assert not recwarn.list, "a glyph that is missing is no concern of whoever runs a study"
    width, height = figure.bbox.width, figure.bbox.height
    title, label = figure._suptitle, figure.axes[0].yaxis.label
    [legend] = figure.legends
    for text in (title, label):
        box = text.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= width
        assert 0 <= box.y0 < box.y1 <= height
    assert not title.get_window_extent().overlaps(legend.get_window_extent())


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
