from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from autotune.config.tracking import TrackingConfig
from autotune.errors import ConfigError
from autotune.masking import masked
from autotune.tracking.uri import Store, store_in_force


def test_the_default_is_an_sqlite_file_in_the_output_root(tmp_path: Path) -> None:
    root = tmp_path / "my outputs"
    store = store_in_force(TrackingConfig(), root, environ={})
    assert store == Store(f"sqlite:///{root}/mlflow.db", f"{root}/mlartifacts")
    assert store.uri.startswith("sqlite:////")
    assert store.sqlite_file == root / "mlflow.db"


def test_a_relative_root_is_taken_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = store_in_force(TrackingConfig(), Path("outputs"), environ={})
    assert store.sqlite_file == tmp_path / "outputs" / "mlflow.db"


def test_the_configuration_comes_before_the_variable_and_that_before_the_default(tmp_path: Path) -> None:
    variable = {"MLFLOW_TRACKING_URI": "http://by-variable:5000"}
    configured = TrackingConfig(uri="http://by-config:5000")
    assert store_in_force(configured, tmp_path, variable).uri == "http://by-config:5000"
    assert store_in_force(TrackingConfig(), tmp_path, variable).uri == "http://by-variable:5000"
    assert (
        store_in_force(TrackingConfig(), tmp_path, {"MLFLOW_TRACKING_URI": " "}).sqlite_file == tmp_path / "mlflow.db"
    )


def test_a_server_decides_where_artifacts_go_and_a_database_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store_in_force(TrackingConfig(uri="https://host"), tmp_path, {}).artifacts is None
    monkeypatch.setitem(sys.modules, "pymysql", ModuleType("pymysql"))
    database = store_in_force(TrackingConfig(uri="mysql+pymysql://host/db"), tmp_path, {})
    assert database.artifacts == str(tmp_path / "mlartifacts")
    assert database.sqlite_file is None


def test_a_relative_sqlite_address_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert store_in_force(TrackingConfig(uri="sqlite:///my.db"), tmp_path, {}).sqlite_file == tmp_path / "my.db"


@pytest.mark.parametrize(
    "uri",
    [
        "./mlruns",
        "mlruns",
        "file:/tmp/mlruns",
        "file:///tmp/mlruns",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///a?b",
        "htp://host:5000",
        "http://",
        "https://:5000",
        "http://host:port",
        "http://host:70000",
        "http://me:pass/word@host",
        "SQLITE:///mlflow.db",
        "POSTGRESQL://host/db",
        "postgresql+nonsense://host/db",
        "mysql://me@host:port/db",
    ],
)
def test_an_address_that_cannot_be_a_store_is_one_line(uri: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="but got") as raised:
        store_in_force(TrackingConfig(), tmp_path, {"MLFLOW_TRACKING_URI": uri})
    assert "\n" not in str(raised.value)


def test_a_database_without_its_driver_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(ConfigError, match="install pymysql") as raised:
        store_in_force(TrackingConfig(uri="mysql+pymysql://me:S3cret@host/db"), tmp_path, {})
    assert "S3cret" not in str(raised.value)


def test_an_output_root_that_sqlalchemy_would_misread_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no '%'"):
        store_in_force(TrackingConfig(), tmp_path / "100%20", {})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:pass@host:5000/path", "https://***@host:5000/path"),
        ("postgresql://me:p@ss@host/db", "postgresql://***@host/db"),
        ("https://token@host", "https://***@host"),
        ("postgresql://host/db?user=me&password=secret&x=1", "postgresql://host/db?user=me&password=***&x=1"),
        ("cannot reach http://a:b@c and http://d:e@f", "cannot reach http://***@c and http://***@f"),
        ("http://host/a@b", "http://host/a@b"),
        ("sqlite:////home/me@work/mlflow.db", "sqlite:////home/me@work/mlflow.db"),
    ],
)
def test_credentials_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:S3cret/x@host/db",
        "postgresql://me:S3cret?x@host/db",
        "postgresql://me:S3cret#x@host/db",
        "postgresql://me:x@S3cret@host/db",
        "postgresql://me:12S3cret/x@host/db",
        "postgresql+psycopg2://:S3cret@host/db",
        "mysql://me:%53%33cret@host/db",
        "https://S3cret:x-oauth-basic@host",
        "HTTPS://me:S3cret@HOST",
        "http://me:S3cret@[::1]:5000/a",
        "http://[fe80::1]:5000/api?token=S3cret",
        "http://h/?api_key=S3cret&x=1",
        "http://h/?a=1&X-Amz-Signature=S3cret",
        "http://h/#access_token=S3cret",
        "http://h/?a=1;auth_token=S3cret",
        "http://h/?pass%77ord=S3cret",
        "http://h/?PassWord=x;S3cret",
        "postgresql://me:a S3cret with spaces@host/db",
        "https://store.blob/c?sv=1&sig=S3cret%3D",
        "mssql+pyodbc:///?odbc_connect=Driver%3Dx%3BPWD%3DS3cret",
        "'http://me:S3cret@host', \"http://me:S3cret@host\" and <http://you:S3cret@other>",
        "python -m autotune 'tracking.uri=postgresql://me:S3cret/y@host/db'",
    ],
)
def test_hostile_secrets_are_masked(text: str) -> None:
    shown = masked(text)
    assert "cret" not in shown.casefold()
    assert masked(shown) == shown, "masking twice changes nothing"


@pytest.mark.parametrize(
    "text",
    [
        "http://host:5000/a@b",
        "http://host:5000",
        "see http://host:5000 or mail me@work",
        "a=1&b=2",
        "sqlite:////a:b@c/d",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "given", ["me:S3cret@host:5000", "file://me:S3cret@host/x", "sqlite:///a?key=S3cret", "sqlite://me:S3cret@h"]
)
def test_an_address_that_is_refused_is_shown_without_its_secret(given: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="but got") as raised:
        store_in_force(TrackingConfig(), tmp_path, {"MLFLOW_TRACKING_URI": given})
    assert "S3cret" not in str(raised.value)


def test_a_store_is_shown_masked() -> None:
    assert str(Store("https://me:pass@host", None)) == "https://***@host"
