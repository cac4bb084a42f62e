from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from autotune.errors import TrackingError
from autotune.tracking import database
from autotune.tracking import store as stores
from autotune.tracking.uri import Store

pytestmark = pytest.mark.slow

PREPARE = """
import sys
from autotune.tracking.store import prepare
from autotune.tracking.uri import Store
import mlflow  # imported before the start line, so that both arrive at the database together
print("ready", flush=True)
sys.stdin.readline()
print(prepare(Store(sys.argv[1], sys.argv[2]), "shared").experiment_id)
"""


@pytest.mark.long
def test_two_processes_prepare_one_new_database_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "the outputs"
    command = [sys.executable, "-c", PREPARE, f"sqlite:///{folder}/mlflow.db", str(folder / "mlartifacts")]
    both = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        for process in both:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        outcomes = []
        for process in both:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        for process in both:
            out, err = process.communicate(timeout=120)
            outcomes.append((process.returncode, out, err))
    finally:
        for process in both:
            process.kill()
            process.communicate()
    assert [outcome[0] for outcome in outcomes] == [0, 0], outcomes
    assert outcomes[0][1] == outcomes[1][1], "one experiment for both"
    assert [outcome[2] for outcome in outcomes] == ["", ""], "no chatter about tables and migrations"


def test_artifacts_of_the_experiment_lie_in_the_output_root(store: Store) -> None:
    opened = stores.prepare(store, "mine")
    experiment = opened.client.get_experiment(opened.experiment_id)
    assert experiment.artifact_location == store.artifacts
    assert Path(experiment.artifact_location).is_absolute()
    assert stores.prepare(store, "mine").experiment_id == opened.experiment_id


def test_a_deleted_experiment_is_used_again(store: Store) -> None:
    opened = stores.prepare(store, "mine")
    opened.client.delete_experiment(opened.experiment_id)
    again = stores.prepare(store, "mine")
    assert again.client.get_experiment(again.experiment_id).lifecycle_stage == "active"


def test_a_locked_database_is_given_up_in_seconds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_WAIT_S", 0.2)
    assert store.sqlite_file is not None
    with closing(sqlite3.connect(store.sqlite_file)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TrackingError, match="database is locked"):
            stores.prepare(store, "mine")


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mlflow.db"
    file.write_text("not a database, but long enough to be looked at. " * 40)
    with pytest.raises(TrackingError, match=r"mlflow\.db: file is not a database"):
        stores.prepare(Store(f"sqlite:///{file}", str(tmp_path / "mlartifacts")), "mine")


def test_a_driver_that_is_missing_leaves_the_study_as_any_other_failure(tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=r"MLflow store mysql\+pymysql://\*\*\*@host/db: .*'pymysql'"):
        stores.prepare(Store("mysql+pymysql://me:secret@host/db", str(tmp_path / "mlartifacts")), "mine")


def test_a_database_whose_making_was_cut_off_is_told_what_to_do_with(tmp_path: Path) -> None:
    """As versions before made it; MLflow then goes on with its migrations, and cannot."""
    file = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(file)) as half:
        for table in ("experiments", "runs", "alembic_version"):
            half.execute(f"CREATE TABLE {table} (version_num)")
        half.execute("INSERT INTO alembic_version VALUES ('what no version has')")
        half.commit()
        with pytest.raises(TrackingError, match=f"cannot open .*: delete {file}, and the next study makes it anew"):
            stores.prepare(Store(f"sqlite:///{file}", str(tmp_path / "mlartifacts")), "mine")
        half.execute("INSERT INTO experiments VALUES ('mine')")
        half.commit()
        with pytest.raises(TrackingError, match="cannot open") as raised:
            stores.prepare(Store(f"sqlite:///{file}", str(tmp_path / "mlartifacts")), "mine")
        assert "delete" not in str(raised.value)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrackingError, match="cannot open the MLflow store"):
        stores.prepare(Store(f"sqlite:///{tmp_path}/file/mlflow.db", str(tmp_path / "file" / "mlartifacts")), "mine")


def test_a_server_that_is_not_there_is_given_up_in_seconds_and_its_password_is_not_shown(silent_server: str) -> None:
    began = time.monotonic()
    with pytest.raises(TrackingError) as raised:
        stores.prepare(Store(silent_server, None), "mine")
    assert time.monotonic() - began < 30
    assert "secret" not in str(raised.value)
    assert "Connection refused" in str(raised.value)
