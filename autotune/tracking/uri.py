"""Which MLflow store is in force, as absolute addresses that hold from any working directory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import urlsplit

from autotune.config.tracking import TrackingConfig
from autotune.errors import ConfigError
from autotune.masking import HIDDEN, masked

VARIABLE = "MLFLOW_TRACKING_URI"

_SQLITE = "sqlite:///"
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_SERVERS = ("http", "https")
_OTHERS = ("databricks", "databricks-uc", "uc")
_PLUGINS = "mlflow.tracking_store"


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
            f"an SQLite store's path must have no '?' and no '%', but got {masked(file)!r};"
            " set output.root or tracking.uri"
        )
    return store


def _shown(address: str) -> str:
    """What was given as an address, which need not be a whole one, without what may be its credentials."""
    return masked(address if "://" in address else re.sub(r"^.*@", f"{HIDDEN}@", address, flags=re.DOTALL))


def _absolute(uri: str, source: str) -> str:
    if uri != "databricks" and "://" not in uri:  # a bare path, or file:path
        raise ConfigError(
            f"{source} must name a store that this MLflow still writes, but got {_shown(uri)!r}: "
            "use sqlite:///path/mlflow.db or a server's address"
        )
    if uri.startswith("file:"):
        raise ConfigError(
            f"{source} must name a store that this MLflow still writes, but got {_shown(uri)!r}: "
            "file stores are gone since MLflow 3.13, use sqlite:///path/mlflow.db or a server's address"
        )
    if not uri.startswith("sqlite:"):
        _check_remote(uri, source)
        return uri
    path = uri.removeprefix(_SQLITE)
    if not uri.startswith(_SQLITE) or path in ("", ":memory:"):
        raise ConfigError(
            f"{source} must be a store that other processes can read, but got {_shown(uri)!r}: use sqlite:///path/mlflow.db"
        )
    return _SQLITE + str(Path(path).expanduser().absolute())


def _check_remote(uri: str, source: str) -> None:
    """Refuse what no server will ever answer to, which otherwise would look like a server that is away."""
    scheme = uri.partition("://")[0].partition("+")[0].casefold()
    if scheme in _SERVERS:
        try:
            parts = urlsplit(uri)
            whole = bool(parts.hostname) and parts.port != 0
        except ValueError:  # the port
            whole = False
        if not whole:
            raise ConfigError(
                f"{source} must have a host, and a port from 1 to 65535 if any, but got {_shown(uri)!r}:"
                " write / ? # and @ in a password as %2F %3F %23 and %40"
            )
    elif scheme in _DATABASES:
        _check_driver(uri, source)
    elif scheme not in _OTHERS and scheme not in entry_points(group=_PLUGINS).names:
        raise ConfigError(
            f"{source} must begin with sqlite, http, https or another kind of store that this MLflow knows,"
            f" but got {_shown(uri)!r}"
        )


def _check_driver(uri: str, source: str) -> None:
    """Refuse a database that no connection can be made to from here: MLflow asks SQLAlchemy, too."""
    from sqlalchemy.engine import make_url

    try:
        make_url(uri).get_dialect().import_dbapi()
    except ImportError as error:
        raise ConfigError(
            f"{source} must be a database whose driver is installed, but got {_shown(uri)!r}:"
            f" install {error.name or error}, or name another one, such as postgresql+psycopg2://..."
        ) from None
    except Exception:  # noqa: BLE001 (of several kinds, and they quote the password)
        raise ConfigError(
            f"{source} must be an address that SQLAlchemy reads, such as sqlite:///path/mlflow.db or"
            f" postgresql://user:password@host/name, in small letters, but got {_shown(uri)!r}:"
            " write / ? # and @ in a password as %2F %3F %23 and %40"
        ) from None
