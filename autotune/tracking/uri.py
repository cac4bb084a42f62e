"""Which MLflow store is in force, as absolute addresses that hold from any working directory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autotune.config.tracking import TrackingConfig
from autotune.errors import ConfigError

VARIABLE = "MLFLOW_TRACKING_URI"

_SQLITE = "sqlite:///"
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_HIDDEN = "***"
_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s]*@")
_SECRETS = re.compile(r"([?&](?:password|token|secret|sslpassword)=)[^&\s]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Store:
    """Where runs are written.

    Attributes:
        uri: tracking URI, absolute; may hold credentials, so show `str(store)` instead.
        artifacts: absolute folder of new experiments' artifacts; `None` where a server decides.
    """

    uri: str
    artifacts: str | None

    @property
    def sqlite_file(self) -> Path | None:
        """The database's file, or `None` for any other kind of store."""
        return Path(self.uri.removeprefix(_SQLITE)) if self.uri.startswith(_SQLITE) else None

    def __str__(self) -> str:
        return masked(self.uri)


def store_in_force(tracking: TrackingConfig, root: Path, environ: Mapping[str, str] = os.environ) -> Store:
    """The store: `tracking.uri`, else MLFLOW_TRACKING_URI, else an SQLite file in the output root.

    Args:
        tracking: the configuration's group.
        root: the output root; relative ones are taken from the working directory, now.
        environ: where the variable is looked up.

    Raises:
        ConfigError: an address that this MLflow cannot write, or that no other process could read.
    """
    root = root.absolute()
    given, source = tracking.uri, "tracking.uri"
    if not given:
        given, source = environ.get(VARIABLE, "").strip(), VARIABLE
    uri = _absolute(given, source) if given else _SQLITE + str(root / "mlflow.db")
    store = Store(uri, str(root / "mlartifacts") if uri.startswith(_DATABASES) else None)
    file = str(store.sqlite_file or "")
    if "?" in file or "%" in file:  # SQLAlchemy reads them as a query and as an escape
        raise ConfigError(
            f"an SQLite store's path must have no '?' and no '%', but got {file!r}; set output.root or tracking.uri"
        )
    return store


def masked(text: str) -> str:
    """The text with the credentials of every URI in it hidden."""
    return _SECRETS.sub(rf"\1{_HIDDEN}", _CREDENTIALS.sub(f"{_HIDDEN}@", text))


def _absolute(uri: str, source: str) -> str:
    if uri != "databricks" and "://" not in uri:  # a bare path, or file:path
        raise ConfigError(
            f"{source} must name a store that this MLflow still writes, but got {uri!r}: "
            "use sqlite:///path/mlflow.db or a server's address"
        )
    if uri.startswith("file:"):
        raise ConfigError(
            f"{source} must name a store that this MLflow still writes, but got {uri!r}: "
            "file stores are gone since MLflow 3.13, use sqlite:///path/mlflow.db or a server's address"
        )
    if not uri.startswith("sqlite:"):
        return uri
    path = uri.removeprefix(_SQLITE)
    if not uri.startswith(_SQLITE) or path in ("", ":memory:"):
        raise ConfigError(
            f"{source} must be a store that other processes can read, but got {uri!r}: use sqlite:///path/mlflow.db"
        )
    return _SQLITE + str(Path(path).expanduser().absolute())
