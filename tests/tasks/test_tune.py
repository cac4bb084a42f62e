"""What a finished study leaves behind, when writing it goes wrong."""

from __future__ import annotations

import shlex
from types import SimpleNamespace

import pytest

from autotune.config.schema import Config
from autotune.errors import ConfigError, TrialFault
from autotune.record.record import Record
from autotune.study import storage
from autotune.tasks import tune
from autotune.tasks.tune import _registrar, _tune, _ui_command, _write_views
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


@pytest.fixture
def record(tmp_path):
    """Of a study that was decided and exported."""
    record = Record(tmp_path / "record.jsonl")
    for event in sample_events():
        record.append(event)
    yield record
    record.close()


@pytest.fixture
def session(tmp_path):
    facts = SimpleNamespace(versions={"tensorflow": "2.21.0", "keras": "3.15.0"}, accelerator="GPU")
    return SimpleNamespace(
        config=Config(),
        folder=SimpleNamespace(path=tmp_path),
        ready=SimpleNamespace(facts=facts, data=None),
        device=None,
        target=SimpleNamespace(profile=None),
        executor=None,
        start_s=1.0,
    )


def test_a_report_that_cannot_be_written_takes_nothing_else_with_it(tmp_path, record, session):
    (tmp_path / "report").write_text("a file in the way")
    mlflow = Kept()
    _write_views(session, record, mlflow)
    note = record.view.notes[-1]
    assert (note.level, note.text[:42]) == ("warning", "the report could not be written: FileExist")
    assert (tmp_path / storage.FILE_NAME).is_file()
    assert {"record.jsonl", "export/saved_model"} <= mlflow.files.keys()


def test_the_report_is_there_although_optunas_storage_cannot_be_written(tmp_path, record, session):
    (tmp_path / storage.FILE_NAME).mkdir()
    mlflow = Kept()
    _write_views(session, record, mlflow)
    assert record.view.notes[-1].text.startswith("Optuna's storage could not be written")
    assert (tmp_path / "report" / "summary.md").is_file()
    assert "report/summary.md" in mlflow.files


@pytest.mark.parametrize(("raised", "status"), [(None, 0), (KeyboardInterrupt(), 130), (MemoryError("full"), None)])
def test_the_report_is_written_however_the_study_ended(tmp_path, record, session, monkeypatch, raised, status):
    def export(*_):
        if raised is not None:
            raise raised

    monkeypatch.setattr(tune, "StudyContext", SimpleNamespace)
    monkeypatch.setattr(tune, "run_study", lambda *_: None)
    monkeypatch.setattr(tune, "export_winner", export)
    if status is None:
        with pytest.raises(MemoryError, match="full"):
            _tune(session, record, None, None)
    else:
        assert _tune(session, record, None, None) == status
    assert (tmp_path / "report" / "summary.md").is_file()


def test_no_password_is_noted_when_the_registry_refuses(tmp_path, record, session):
    class Worker:
        def register(self, args):
            raise TrialFault("crash", f"cannot reach {args.tracking_uri}")

    register = _registrar(session, record, Kept())
    assert register(Worker(), record.view, tmp_path, tmp_path, "candidate") is None
    assert record.view.notes[-1].text == "the model was not registered: cannot reach http://***@host"


def test_a_model_that_is_not_registered_while_mlflow_is_away_is_told(tmp_path, record, session):
    mlflow = Kept()
    mlflow.run_id = lambda: None
    assert _registrar(session, record, mlflow)(None, record.view, tmp_path, tmp_path, "candidate") is None
    note = record.view.notes[-1]
    assert (note.topic, note.level) == ("registry", "warning")
    assert note.text.startswith("the model was not registered: MLflow is away; task=sync sends")


def test_a_model_that_is_not_wanted_in_the_registry_is_no_warning(tmp_path, record, session):
    session.config.tracking.log_model = False
    before = len(record.view.notes)
    assert _registrar(session, record, Kept())(None, record.view, tmp_path, tmp_path, "candidate") is None
    assert len(record.view.notes) == before


def test_the_command_for_the_ui_is_one_that_a_shell_takes():
    shown = shlex.split(_ui_command(Store("sqlite:////my runs/mlflow.db", None)))
    assert shown == ["python", "-m", "autotune.viewers.ui", "--store", "/my runs/mlflow.db"]
    command = shlex.split(_ui_command(Store("postgresql://host/my runs", "/artifacts")))
    assert command == ["MLFLOW_TRACKING_URI=postgresql://host/my runs", "python", "-m", "autotune.viewers.ui"]
    hidden = _ui_command(Store("postgresql://me:S3cret@host/runs", "/artifacts"))
    assert hidden.startswith("python -m autotune.viewers.ui (with MLFLOW_TRACKING_URI set to")
    assert "S3cret" not in hidden


def test_a_wrong_address_is_refused_before_anything_is_loaded(tmp_path, monkeypatch):
    config = Config()
    config.tracking.uri, config.output.root = "htp://host", str(tmp_path / "outputs")
    monkeypatch.delattr(tune, "accepted_device")
    with pytest.raises(ConfigError, match=r"tracking\.uri must begin with"):
        tune.tune(config)
    assert not list(tmp_path.iterdir())


def test_a_server_has_a_ui_already():
    assert _ui_command(Store("https://me:S3cret@host:5000/mlflow", None)) == "https://host:5000/mlflow"
    assert _ui_command(Store("databricks://mine", None)) == "databricks://mine"
