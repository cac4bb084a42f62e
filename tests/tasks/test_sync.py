"""`task=sync`: from a study's folder into a real store."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.config.schema import Config, Task
from autotune.errors import ConfigError, UserError
from autotune.pipeline import run
from autotune.record.events import Event, Exported, StudyStarted
from autotune.record.lines import FILE_NAME, encode
from autotune.record.lock import SessionLock, last_beat_s
from autotune.tracking.sink import MlflowSink
from autotune.tracking.uri import Store, store_in_force
from tests.sample_study import sample_events
from tests.tracking.logged import STUDY, contents, runs, tell

FILTER = "ignore:The ``noload`` loader strategy:DeprecationWarning"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study's folder, as a run leaves it."""
    folder = tmp_path / "my studies" / "it's one"
    for name in ("report/trials.csv", "export/model.keras"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(name)
    write_record(folder, sample_events(output_dir=str(folder)))
    return folder


def write_record(folder: Path, events: list[Event]) -> None:
    lines = []
    for second, event in enumerate(events):
        if isinstance(event, StudyStarted):
            event.config["output"]["root"] = str(folder.parent)
        if isinstance(event, Exported):
            event = replace(event, files={"model.keras": str(folder / "export" / "model.keras")})
        lines.append(encode(event, float(second)) + "\n")
    (folder / FILE_NAME).write_text("".join(lines))


def asked(folder: Path | None, uri: str | None = None) -> Config:
    config = Config()
    config.task = Task.sync
    config.study.folder = None if folder is None else str(folder)
    config.tracking.uri = uri
    return config


def store_of(folder: Path) -> Store:
    return store_in_force(Config().tracking, folder.parent, environ={})


def test_without_a_folder_it_says_what_is_missing() -> None:
    with pytest.raises(ConfigError, match=r"study\.folder is null"):
        run(asked(None))


def test_without_a_record_it_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"cannot read the record {tmp_path}/x/record.jsonl"):
        run(asked(tmp_path / "x"))
    (tmp_path / FILE_NAME).write_text("")
    with pytest.raises(UserError, match="it has no start"):
        run(asked(tmp_path))
    started = sample_events()[0]
    assert isinstance(started, StudyStarted)
    (tmp_path / FILE_NAME).write_text(encode(replace(started, config={**started.config, "task": "train"})) + "\n")
    with pytest.raises(UserError, match=r"a single training \(task=train\)"):
        run(asked(tmp_path))


def test_a_study_that_is_running_sends_itself(folder: Path) -> None:
    with SessionLock(folder, lambda: 42.0):
        with pytest.raises(ConfigError, match="is running"):
            run(asked(folder))
        assert last_beat_s(folder) == 42.0


@pytest.mark.slow
@pytest.mark.filterwarnings(FILTER)
def test_a_study_is_sent_whole_and_a_second_time_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert run(asked(folder)) == 0
    store = store_of(folder)
    held = contents(store)
    assert (len(held), held["study"]["status"], held["study"]["tags"]["winner"]) == (10, "FINISHED", "4")
    for name in ("config.yaml", FILE_NAME, "report/trials.csv", "export/model.keras"):
        assert name in held["study"]["files"]
    [parent] = [found for found in runs(store) if "trial" not in found.data.tags]
    assert parent.info.start_time == 1772360100000
    assert parent.info.end_time == 1772360100000 + (len(sample_events()) - 1) * 1000
    line = capsys.readouterr().out
    assert line.startswith(f"{STUDY} is in the MLflow store {store}, run {parent.info.run_id}: 10 runs, ")
    assert (line.count("\n"), line.endswith(" and 4 files were new\n")) == (1, True)

    assert run(asked(folder)) == 0
    assert capsys.readouterr().out.endswith(": 0 runs, 0 values and 0 files were new\n")
    assert contents(store) == held


@pytest.mark.slow
@pytest.mark.filterwarnings(FILTER)
def test_a_study_that_was_killed_is_closed_as_what_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    write_record(folder, sample_events(output_dir=str(folder))[:46])
    run(asked(folder))
    held = contents(store_of(folder))
    assert held["study"]["status"] == "FAILED"
    assert not [number for number, found in held.items() if found["status"] == "RUNNING"]


@pytest.mark.slow
@pytest.mark.filterwarnings(FILTER)
def test_a_store_that_is_away_is_one_line(folder: Path) -> None:
    with pytest.raises(UserError, match=r"cannot send .* to the MLflow store") as raised:
        run(asked(folder, "http://me:S3cret@127.0.0.1:1"))
    assert "Connection refused" in str(raised.value)
    assert "S3cret" not in str(raised.value)


@pytest.mark.slow
@pytest.mark.filterwarnings(FILTER)
def test_the_command_that_a_study_gives_sends_what_its_store_missed(folder: Path) -> None:
    store = store_of(folder)
    assert store.sqlite_file is not None
    store.sqlite_file.mkdir()  # a folder where the database belongs
    config = Config()
    config.output.root, config.model.name = str(folder.parent), "cifar_mlp"
    sink = MlflowSink(config, STUDY, store=store)
    events = sample_events(output_dir=str(folder))
    tell(sink, events)
    with pytest.raises(Exception, match="events were not sent") as raised:
        sink.close(wait_s=1)
    command = str(raised.value).partition("send it later with: ")[2]
    store.sqlite_file.rmdir()

    words = [sys.executable, *shlex.split(command)[1:]]
    environment = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert contents(store)["study"]["tags"]["winner"] == "4"
