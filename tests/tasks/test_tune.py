"""What a finished study leaves behind, when writing it goes wrong."""

from __future__ import annotations

import shlex
from types import SimpleNamespace

from autotune.config.schema import Config
from autotune.errors import TrialFault
from autotune.record.events import Note
from autotune.record.record import Record
from autotune.study import storage
from autotune.tasks.tune import _registrar, _ui_command, _write_views
from autotune.tracking.uri import Store
from tests.sample_study import sample_events


class Kept:
    """A tracking store that keeps what it is given."""

    store = Store("http://me:secret@host", None)

    def __init__(self) -> None:
        self.files: dict[str, object] = {}

    def log_artifacts(self, files):
        self.files |= files

    def run_id(self):
        return "run"


def finished(folder):
    record = Record(folder / "record.jsonl")
    for event in sample_events():
        record.append(event)
    return record, SimpleNamespace(folder=SimpleNamespace(path=folder), config=Config())


def test_a_report_that_cannot_be_written_takes_nothing_else_with_it(tmp_path):
    record, session = finished(tmp_path)
    (tmp_path / "report").write_text("a file in the way")
    mlflow = Kept()
    _write_views(session, record, mlflow)
    note = record.view.notes[-1]
    assert isinstance(note, Note)
    assert (note.level, note.text[:42]) == ("warning", "the report could not be written: FileExist")
    assert (tmp_path / storage.FILE_NAME).is_file()
    assert {"record.jsonl", "export/best.yaml"} <= mlflow.files.keys()
    record.close()


def test_the_report_is_there_although_optunas_storage_cannot_be_written(tmp_path):
    record, session = finished(tmp_path)
    (tmp_path / storage.FILE_NAME).mkdir()
    mlflow = Kept()
    _write_views(session, record, mlflow)
    assert record.view.notes[-1].text.startswith("Optuna's storage could not be written")
    assert (tmp_path / "report" / "summary.md").is_file()
    assert "report/summary.md" in mlflow.files
    record.close()


def test_no_password_is_noted_when_the_registry_refuses(tmp_path):
    record, session = finished(tmp_path)
    session.ready = SimpleNamespace(facts=SimpleNamespace(versions={"tensorflow": "2.21.0", "keras": "3.15.0"}))

    class Worker:
        def register(self, args):
            raise TrialFault("crash", f"cannot reach {args.tracking_uri}")

    register = _registrar(session, record, Kept())
    assert register(Worker(), record.view, tmp_path, tmp_path, "candidate") is None
    assert record.view.notes[-1].text == "the model was not registered: cannot reach http://***@host"
    record.close()


def test_the_command_for_the_ui_is_one_that_a_shell_takes():
    command = _ui_command(Store("sqlite:////my runs/mlflow.db", None))
    assert shlex.split(command) == [*"python -m mlflow ui --backend-store-uri".split(), "sqlite:////my runs/mlflow.db"]
    assert "secret" not in _ui_command(Kept.store)
