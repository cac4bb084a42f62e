"""The last study is found in a database file and on a server, without MLflow."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autotune.config.schema import Config
from autotune.errors import UserError
from autotune.record.events import StudyStarted
from autotune.sweep import Sweep
from autotune.tracking.last_study import LastStudy, last_study, without_login
from autotune.tracking.sink import MlflowSink
from autotune.tracking.uri import Store
from tests.sample_study import sample_events
from tests.tracking.logged import EXPERIMENT, tell

SWEEP = Sweep("2026-11-30 08:46:14 over model", "model=cifar_mlp")


def test_nothing_heavy_is_imported() -> None:
    heavy = {"mlflow", "tensorflow", "optuna", "numpy"}
    code = f"import sys, autotune.viewers.ui; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("content", [None, b"no database at all", b""])
def test_what_is_no_store_is_told_in_one_line(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "mlflow.db"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=r"mlflow\.db"):
        last_study(Store(f"sqlite:///{file}", None))
    assert file.exists() is (content is not None), "to look makes no store"


def test_a_store_that_only_mlflow_can_read_is_not_asked() -> None:
    assert last_study(Store("postgresql://me:secret@host/db", None)) is None


def test_a_server_that_does_not_answer_is_told_in_one_line_without_its_password(silent_server: str) -> None:
    with pytest.raises(UserError, match="cannot be asked") as told:
        last_study(Store(silent_server, None))
    assert "secret" not in str(told.value)


def test_a_browser_is_given_no_password() -> None:
    assert without_login("https://me:secret@host:5000/mlflow/") == "https://host:5000/mlflow"


Began = Callable[..., str]


@pytest.fixture
def began(config: Config, store: Store) -> Began:
    """Log a study that began at a time, as a job of a multirun or of none; returns its run's id."""

    def log(study: str, at_s: float, sweep: Sweep | None = None, experiment: str = EXPERIMENT) -> str:
        config.tracking.experiment = experiment
        sink = MlflowSink(config, study, store=store)
        started, *rest = sample_events(output_dir=f"/studies/{study}")
        assert isinstance(started, StudyStarted)
        tell(sink, [replace(started, study=study, started_unix_s=at_s, sweep=sweep), *rest[:12]])
        run_id = sink.run_id()
        sink.close()
        assert run_id is not None
        return run_id

    return log


@pytest.mark.slow
def test_the_study_that_began_last_is_found_whenever_it_was_sent(began: Began, store: Store) -> None:
    assert last_study(store) is None, "the store has no study yet"
    run_id = began("last", 1_772_370_000.0)
    began("first", 1_772_360_000.0)
    found = last_study(store)
    assert found is not None
    assert (found.run_id, found.name, found.sweep, found.experiments) == (run_id, "last", None, ())
    experiment = _experiment_of(store, run_id)
    assert found.experiment_id == experiment


@pytest.mark.slow
def test_the_experiments_of_a_multirun_are_found_with_its_last_study(began: Began, store: Store) -> None:
    ids = {began("one", 1_772_360_000.0, SWEEP, "autotune-a"), began("two", 1_772_370_000.0, SWEEP, "autotune-b")}
    began("alone", 1_772_350_000.0, None, "autotune-c")
    found = last_study(store)
    assert found is not None
    assert (found.name, found.sweep) == ("two", SWEEP.name)
    assert sorted(found.experiments) == sorted(_experiment_of(store, run_id) for run_id in ids)


@pytest.mark.slow
def test_a_deleted_study_is_not_the_last(began: Began, store: Store) -> None:
    from mlflow import MlflowClient

    kept = began("kept", 1_772_360_000.0)
    MlflowClient(store.uri).delete_run(began("deleted", 1_772_370_000.0))
    found = last_study(store)
    assert found is not None
    assert found.run_id == kept


def _experiment_of(store: Store, run_id: str) -> str:
    assert store.sqlite_file is not None
    with closing(sqlite3.connect(store.sqlite_file)) as database:
        [number] = database.execute("SELECT experiment_id FROM runs WHERE run_uuid = ?", (run_id,)).fetchone()
    return str(number)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a server answers, by the end of the request's address; keeps what it was asked."""
    found: dict[str, Any] = {"asked": []}

    def ask(store: Store, what: str, asked: dict[str, Any]) -> Any:
        found["asked"].append((what, asked))
        return found[what].pop(0)

    monkeypatch.setattr("autotune.tracking.last_study._ask", ask)
    return found


def test_a_server_is_asked_for_the_same(answers: dict[str, Any]) -> None:
    info = {"run_id": "ab", "experiment_id": "2", "run_name": "two"}
    tags = [{"key": "sweep", "value": SWEEP.name}]
    answers["experiments/search"] = [{"experiments": [{"experiment_id": "1"}, {"experiment_id": "2"}]}]
    sibling = {"info": {"run_id": "cd", "experiment_id": "1"}, "data": {}}
    own = {"info": info, "data": {"tags": tags}}
    answers["runs/search"] = [{"runs": [own]}, {"runs": [own, sibling]}]
    assert last_study(Store("http://host:5000", None)) == LastStudy("ab", "2", "two", SWEEP.name, ("2", "1"))
    assert answers["asked"][1][1]["order_by"] == ["attributes.start_time DESC"]


@pytest.mark.parametrize("answer", [{}, {"runs": []}])
def test_a_server_without_a_study_has_none(answers: dict[str, Any], answer: dict[str, Any]) -> None:
    answers["experiments/search"], answers["runs/search"] = [{}], [answer]
    assert last_study(Store("http://host:5000", None)) is None
