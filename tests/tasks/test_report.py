"""`task=report`: a study's report from its record alone, whatever has become of the study."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.config.schema import Config, Task
from autotune.errors import ConfigError, UserError
from autotune.pipeline import run
from autotune.record.events import Event, FidelityPlanned, StudyStarted
from autotune.record.lines import FILE_NAME, encode, read
from autotune.record.lock import SessionLock, last_beat_s
from tests.sample_study import sample_events

FILES = ["report.html", "summary.md", "trials.csv", "tradeoff.png"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study's folder with nothing but its record."""
    folder = tmp_path / "my studies" / "it's one"
    write_record(folder, sample_events(output_dir=str(folder)))
    return folder


def write_record(folder: Path, events: list[Event]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [encode(event, float(second)) + "\n" for second, event in enumerate(events)]
    (folder / FILE_NAME).write_text("".join(lines))


def make_older(folder: Path, version: int) -> None:
    """A record as it was before lines had times."""
    lines = [json.loads(line) for line in (folder / FILE_NAME).read_text().splitlines()]
    for line in lines:
        del line["at_s"]
        if "format" in line:
            line["format"] = version
    (folder / FILE_NAME).write_text("".join(json.dumps(line) + "\n" for line in lines))


def asked(folder: Path | None) -> Config:
    config = Config()
    config.task = Task.report
    config.study.folder = None if folder is None else str(folder)
    return config


def summary(folder: Path) -> str:
    return (folder / "report" / "summary.md").read_text(encoding="utf-8")


def test_all_files_are_made_from_the_record_alone_and_their_paths_are_printed(folder: Path, capsys) -> None:
    assert run(asked(folder)) == 0
    assert capsys.readouterr().out.splitlines() == [str(folder / "report" / name) for name in FILES]
    assert sorted(path.name for path in folder.iterdir()) == [FILE_NAME, "report"]
    assert sorted(path.name for path in (folder / "report").iterdir()) == sorted(FILES)
    assert summary(folder).startswith("# Use trial 4")
    assert "Warning" not in summary(folder)


def test_the_record_is_left_as_it_is_and_a_second_report_equals_the_first(folder: Path) -> None:
    record = (folder / FILE_NAME).read_bytes()
    run(asked(folder))
    first = {name: (folder / "report" / name).read_bytes() for name in FILES[:3]}
    run(asked(folder))
    assert {name: (folder / "report" / name).read_bytes() for name in FILES[:3]} == first
    assert (folder / FILE_NAME).read_bytes() == record


def test_a_folder_that_was_moved_has_the_paths_of_where_it_is(folder: Path) -> None:
    (folder / "export").mkdir()
    (folder / "export" / "best.yaml").write_text("")
    moved = folder.parent / "moved"
    shutil.move(folder, moved)
    run(asked(moved))
    text = summary(moved)
    assert f"--config-dir '{moved / 'export'}'" in text
    assert f"- **record**: {moved}" in text
    assert str(folder) not in text.replace(str(moved), "").split("- **command**")[0]


def test_files_that_did_not_move_along_keep_their_paths(folder: Path) -> None:
    moved = folder.parent / "moved"
    shutil.move(folder, moved)
    run(asked(moved))
    assert f"**exported**: {folder}/export" in summary(moved)


@pytest.mark.parametrize("version", [1, 2])
def test_a_record_of_an_older_version_is_shown_and_called_so(folder: Path, version: int) -> None:
    make_older(folder, version)
    assert run(asked(folder)) == 0
    assert f"the record is of an older version (format {version})" in summary(folder)
    assert summary(folder).startswith("# Use trial 4")
    with pytest.raises(UserError, match=f"has record format {version}"):
        list(read(folder / FILE_NAME))


def test_a_record_of_a_later_version_is_refused(folder: Path) -> None:
    text = (folder / FILE_NAME).read_text().replace('"format":3', '"format":4')
    (folder / FILE_NAME).write_text(text)
    with pytest.raises(UserError, match="has record format 4"):
        run(asked(folder))


def test_a_running_study_is_called_so_and_is_not_disturbed(folder: Path) -> None:
    events = sample_events(output_dir=str(folder))
    write_record(folder, events[:40])
    with SessionLock(folder, lambda: 42.0):
        assert run(asked(folder)) == 0
        assert last_beat_s(folder) == 42.0
    assert "**Warning:** the study is running" in summary(folder)
    assert "unfinished: the record ends in its stage" in summary(folder)


def test_an_unfinished_study_is_called_so(folder: Path) -> None:
    write_record(folder, sample_events(output_dir=str(folder))[:8])
    assert run(asked(folder)) == 0
    assert "unfinished" in summary(folder)
    assert "running" not in summary(folder)
    assert not (folder / "report" / "tradeoff.png").exists()
    page = (folder / "report" / "report.html").read_text(encoding="utf-8")
    assert "There is no plot" in page


def test_a_line_that_a_crash_cut_is_left_out(folder: Path) -> None:
    whole = (folder / FILE_NAME).read_bytes()
    (folder / FILE_NAME).write_bytes(whole[:-20])
    assert run(asked(folder)) == 0
    assert "test part" not in summary(folder), "the last event, the export, was cut"


def of_task(events: list[Event], task: str) -> list[Event]:
    first, *rest = events
    assert isinstance(first, StudyStarted)
    return [replace(first, config={**first.config, "task": task}), *rest]


def test_a_single_training_is_no_study_to_report(folder: Path) -> None:
    write_record(folder, of_task(sample_events(), "train")[:4])
    with pytest.raises(UserError, match=r"of no study but of a single training \(task=train\)"):
        run(asked(folder))
    assert not (folder / "report").exists()


def test_a_plan_is_not_called_unfinished(folder: Path) -> None:
    events = of_task(sample_events(), "plan")
    write_record(folder, events[: 1 + next(i for i, e in enumerate(events) if isinstance(e, FidelityPlanned))])
    assert run(asked(folder)) == 0
    assert "this is a plan (task=plan)" in summary(folder)
    assert "unfinished" not in summary(folder)


def test_mistakes_are_one_line(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"study\.folder is null"):
        run(asked(None))
    with pytest.raises(UserError, match=r"cannot read the record .*nowhere"):
        run(asked(tmp_path / "nowhere"))
    (tmp_path / FILE_NAME).write_text("")
    with pytest.raises(UserError, match="it has no start"):
        run(asked(tmp_path))
    (folder / "report").write_text("a file")
    with pytest.raises(UserError, match="the report cannot be written into"):
        run(asked(folder))


@pytest.mark.slow
@pytest.mark.parametrize(("there", "status"), [(True, 0), (False, 2)])
def test_from_the_command_line(folder: Path, tmp_path: Path, there: bool, status: int) -> None:
    asked_for = folder if there else folder / "x"
    words = [sys.executable, "-m", "autotune", "task=report", f'study.folder="{asked_for}"']
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    lines = (done.stdout if there else done.stderr).splitlines()
    assert len(lines) == (4 if there else 1)
    assert all(Path(line).is_file() for line in lines if there)
