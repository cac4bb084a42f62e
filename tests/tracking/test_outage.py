"""A store that fails while a study runs, and comes back. The faults are real ones."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from autotune.config.schema import Config
from autotune.errors import TrackingError
from autotune.record.events import SinkFailed
from autotune.record.lines import FILE_NAME, read
from autotune.record.record import Record
from autotune.tracking import database
from autotune.tracking import sink as sinks
from autotune.tracking.sink import MlflowSink
from autotune.tracking.uri import Store, store_in_force
from tests.sample_study import sample_events
from tests.tracking.logged import STUDY, contents, tell, until

pytestmark = pytest.mark.slow

_HALF = 40


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pauses."""
    monkeypatch.setattr(database, "BUSY_WAIT_S", 0.2)
    monkeypatch.setattr(sinks, "FIRST_PAUSE_S", 0.1)
    monkeypatch.setattr(sinks, "LONGEST_PAUSE_S", 0.5)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> dict[str, dict[str, Any]]:
    """What a store holds that took the sample study without a fault."""
    folder = tmp_path_factory.mktemp("undisturbed")
    store = Store(f"sqlite:///{folder}/mlflow.db", str(folder / "mlartifacts"))
    shutil.copyfile(empty_database, folder / "mlflow.db")
    config = Config()
    config.model.name = "cifar_mlp"
    sink = MlflowSink(config, STUDY, store=store)
    tell(sink, sample_events())
    sink.close()
    return contents(store)


@contextmanager
def locked(file: Path) -> Iterator[None]:
    with closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def read_only(file: Path) -> Iterator[None]:
    """No writing to the file: root, whom no mode stops, is stopped by an attribute of the file system."""
    if os.geteuid() != 0:
        file.chmod(0o444)
        yield
        file.chmod(0o644)
        return
    if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", file], check=False).returncode != 0:
        pytest.skip("root writes to every file here: this file system has no immutable files")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", file], check=True)


@contextmanager
def unusable(file: Path) -> Iterator[None]:
    """A folder stands where the database belongs."""
    kept = file.rename(file.with_suffix(".kept"))
    file.mkdir()
    yield
    file.rmdir()
    kept.rename(file)


@pytest.mark.parametrize("fault", [locked, read_only, unusable])
def test_a_study_that_begins_without_its_store_is_sent_when_the_store_is_there(
    fault: Any, config: Config, store: Store, undisturbed: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert store.sqlite_file is not None
    sink = MlflowSink(config, STUDY, store=store)
    with fault(store.sqlite_file):
        tell(sink, sample_events())
        assert sink.run_id() is None
        time.sleep(0.5)  # several attempts
    sink.close()
    assert contents(store) == undisturbed
    assert len([entry for entry in caplog.records if "does not take" in entry.message]) == 1, "said once"


@pytest.mark.long
def test_a_lock_in_the_middle_delays_what_is_sent_and_nothing_else(
    config: Config, store: Store, undisturbed: dict[str, Any]
) -> None:
    assert store.sqlite_file is not None
    sink = MlflowSink(config, STUDY, store=store)
    events = sample_events()
    tell(sink, events[:_HALF])
    assert sink.run_id() is not None
    with locked(store.sqlite_file):
        began = time.monotonic()
        tell(sink, events[_HALF:])
        assert time.monotonic() - began < 1, "the study does not wait"
        assert sink.run_id() is None  # after MLflow's own 20 s
    sink.close()
    assert contents(store) == undisturbed


def test_a_full_disk_in_the_middle(
    tmp_path: Path, config: Config, empty_database: Path, undisturbed: dict[str, Any]
) -> None:
    root = tmp_path / "small"
    root.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(root)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        config.output.root = str(root)
        store = store_in_force(config.tracking, root, environ={})
        shutil.copyfile(empty_database, root / "mlflow.db")
        sink = MlflowSink(config, STUDY, store=store)
        events = sample_events()
        tell(sink, events[:_HALF])
        assert sink.run_id() is not None
        _fill(root / "filler")
        tell(sink, events[_HALF:])
        assert sink.run_id() is None
        (root / "filler").unlink()
        sink.close()
        assert contents(store) == undisturbed
    finally:
        subprocess.run(["umount", "--lazy", str(root)], check=True)


def _fill(file: Path) -> None:
    with file.open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(4096))


def test_a_store_that_stays_away_is_one_line_of_the_record_with_the_command_for_later(
    config: Config, silent_server: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config.tracking.uri = silent_server
    sink = MlflowSink(config, STUDY, flush_s=0.5)
    record = Record(tmp_path / FILE_NAME, [sink])
    began = time.monotonic()
    events = sample_events()
    for event in events:
        record.append(event)
    assert time.monotonic() - began < 3, "events do not wait for the store"
    assert sink.run_id(60) is None
    began = time.monotonic()
    record.close()
    assert time.monotonic() - began < 3
    [failure] = [event for event in read(tmp_path / FILE_NAME) if isinstance(event, SinkFailed)]
    assert f"{len(events)} of {len(events)} events were not sent to the MLflow store http://***@127" in failure.message
    assert "Connection refused" in failure.message
    assert "python -m autotune task=sync study.folder=/studies/cifar_mlp-rtx3090" in failure.message
    assert "secret" not in (failure.message + caplog.text).replace("holds a secret", "")


def test_a_store_that_cannot_be_opened_is_away_and_no_fault_of_the_sink(
    config: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its driver raises `ModuleNotFoundError` here; a database of another program raises SQLAlchemy's own."""
    sink = MlflowSink(config, STUDY, store=Store("mysql+pymysql://me:S3cret@host/db", str(tmp_path)), flush_s=0.1)
    sink.start()
    assert sink.run_id() is None
    tell(sink, sample_events()[:_HALF])
    with pytest.raises(TrackingError, match=r"^40 of 40 events .*mysql\+pymysql://\*\*\*@host.* task=sync") as raised:
        sink.close()
    assert "S3cret" not in str(raised.value) + caplog.text


def test_the_wait_at_the_end_is_what_the_caller_allows(config: Config, store: Store) -> None:
    assert store.sqlite_file is not None
    sink = MlflowSink(config, STUDY, store=store)
    with locked(store.sqlite_file):
        tell(sink, sample_events()[:5])
        began = time.monotonic()
        with pytest.raises(TrackingError, match="5 of 5 events were not sent"):
            sink.close(wait_s=0.3)
        assert time.monotonic() - began < 2


def test_the_wait_at_the_end_is_cut_by_a_signal_that_comes_meanwhile(
    config: Config, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store.sqlite_file is not None
    began = time.monotonic()
    monkeypatch.setattr(sinks, "at_most", lambda limit_s: limit_s if time.monotonic() < began + 1 else -1.0)
    sink = MlflowSink(config, STUDY, store=store, flush_s=60)
    with locked(store.sqlite_file):
        tell(sink, sample_events()[:5])
        with pytest.raises(TrackingError, match="5 of 5 events were not sent"):
            sink.close()
    assert time.monotonic() - began < 5


def test_a_database_that_is_overwritten_is_reported_and_sinks_nothing(config: Config, store: Store) -> None:
    sink = MlflowSink(config, STUDY, store=store, flush_s=1)
    events = sample_events()
    tell(sink, events[:5])
    assert sink.run_id() is not None
    assert store.sqlite_file is not None
    store.sqlite_file.write_text("overwritten by accident " * 500)
    tell(sink, events[5:])
    with pytest.raises(TrackingError, match=f"{len(events) - 5} of {len(events)} events"):
        sink.close()


def test_a_run_that_somebody_deletes_is_made_again(config: Config, store: Store, undisturbed: dict[str, Any]) -> None:
    from mlflow import MlflowClient

    sink = MlflowSink(config, STUDY, store=store)
    events = sample_events()
    tell(sink, events[:_HALF])
    run_id = sink.run_id()
    assert run_id is not None
    MlflowClient(store.uri).delete_run(run_id)
    tell(sink, events[_HALF:])
    until(lambda: sink.run_id() not in (None, run_id))
    sink.close()
    assert {number: run for number, run in contents(store).items() if number == "study"} == {
        "study": undisturbed["study"]
    }
