from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from autotune.errors import UserError
from autotune.tracking import database
from autotune.tracking.promote import Promotion, promote, proposed
from autotune.tracking.uri import Store


def test_without_a_store_there_is_nothing_to_promote(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no MLflow store at"):
        proposed(Store(f"sqlite:///{tmp_path}/mlflow.db", None), "net")
    assert not list(tmp_path.iterdir()), "looking makes nothing"


def test_an_empty_file_is_no_store_and_stays_empty(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").touch()
    with pytest.raises(UserError, match="there is no MLflow store at"):
        proposed(Store(f"sqlite:///{tmp_path}/mlflow.db", None), "net")
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("sqlite:///{folder}/garbage.db", "file is not a database"),
        ("sqlite:///{folder}/locked.db", "database is locked"),
        ("mysql+pymysql://me:S3cret@host/db", "No module named 'pymysql'"),
    ],
)
def test_a_store_that_cannot_be_used_is_one_line(
    uri: str, said: str, tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_WAIT_S", 0.2)
    (tmp_path / "garbage.db").write_text("not a database, but long enough to be looked at. " * 40)
    shutil.copyfile(empty_database, tmp_path / "locked.db")
    store = Store(uri.format(folder=tmp_path), None)
    with closing(sqlite3.connect(tmp_path / "locked.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UserError, match=f"cannot promote net in .*{said}") as raised:
            proposed(store, "net")
        with pytest.raises(UserError, match=f"cannot promote net in .*{said}"):
            promote(store, Promotion("net", "7", None, {}))
    assert len(str(raised.value)) < 400
    assert "S3cret" not in str(raised.value)


@pytest.fixture
def client(store: Store) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(store.uri)


@pytest.mark.slow
def test_the_candidate_becomes_production(store: Store, client: Any, tmp_path: Path) -> None:
    client.create_registered_model("net")
    for speedup in ("5.0", "6.0"):
        client.create_model_version("net", source=str(tmp_path), tags={"speedup": speedup})
    client.set_registered_model_alias("net", "candidate", "1")

    first = proposed(store, "net")
    assert (first.version, first.previous, first.evidence) == ("1", None, {"speedup": "5.0"})
    assert "production" not in client.get_registered_model("net").aliases, "looking moves nothing"
    promote(store, first)
    client.set_registered_model_alias("net", "candidate", "2")
    second = proposed(store, "net")
    assert (second.version, second.previous) == ("2", "1")
    promote(store, second)
    assert client.get_registered_model("net").aliases == {"candidate": 2, "production": 2}


@pytest.mark.slow
def test_what_cannot_be_promoted_is_one_line(store: Store, client: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no version of the model 'net' .*versions: none"):
        proposed(store, "net")
    client.create_registered_model("net")
    client.create_model_version("net", source=str(tmp_path))
    with pytest.raises(UserError, match=r"has the alias 'candidate' \(its versions: 1\)"):
        proposed(store, "net")
    with pytest.raises(UserError, match="cannot promote net in"):
        promote(store, Promotion("net", "7", None, {}))
