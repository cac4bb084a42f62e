"""A database that is made whole or not at all; MLflow's part in it, which takes seconds, is a copy here."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from autotune.tracking import database


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mlflow.db"


@pytest.mark.parametrize("before", ["nothing", "an empty file", "a link to an empty file"])
@pytest.mark.parametrize("left", [(), ("mlflow.db.new", "mlflow.db.new-journal", "mlflow.db.new-wal")])
def test_a_database_that_is_cut_off_in_the_making_can_be_made_again(
    file: Path, before: str, left: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = file.with_name("elsewhere.db") if "link" in before else file
    if before != "nothing":
        real.touch(mode=0o600)
    if real != file:
        file.symlink_to(real)
    for name in left:
        file.with_name(name).write_text("what a killed process leaves")

    def full(new: Path) -> None:
        new.write_text("half a database")
        raise OSError("No space left on device")

    monkeypatch.setattr(database, "_migrate", full)
    with pytest.raises(OSError, match="No space left"), database.alone(file):
        raise AssertionError
    assert database.is_empty(file)

    monkeypatch.setattr(database, "_migrate", lambda new: shutil.copyfile(_made(file.parent), new))
    with database.alone(file):
        assert _tables(file) == ["runs"]
    kept = {"mlflow.db", "mlflow.db.lock", "made.db", real.name}
    assert {path.name for path in file.parent.iterdir()} == kept, "nothing of the making is left"
    assert file.is_symlink() == (real != file)
    if before != "nothing":
        assert real.stat().st_mode & 0o777 == 0o600, "whoever may read it is a person's to say"


def test_a_database_that_is_there_is_not_made(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copyfile(_made(file.parent), file)
    monkeypatch.delattr(database, "_migrate")
    with database.alone(file):
        assert _tables(file) == ["runs"]


def test_what_another_program_made_meanwhile_stays(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(new: Path) -> None:
        shutil.copyfile(_made(file.parent), file)
        new.write_text("ours")

    monkeypatch.setattr(database, "_migrate", slow)
    with database.alone(file):
        assert _tables(file) == ["runs"]


@pytest.mark.slow
def test_mlflows_tables_are_made_beside_the_database(empty_database: Path) -> None:
    assert {"runs", "experiments", "model_versions"} <= set(_tables(empty_database))
    assert not list(empty_database.parent.glob("*.new*"))


def _made(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "made.db")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS runs (name)")
    return folder / "made.db"


def _tables(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
