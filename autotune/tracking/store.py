"""Opening an MLflow store: quietly, within a time limit, and once for all processes that share a file."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autotune.errors import TrackingError
from autotune.masking import masked
from autotune.tracking import database
from autotune.tracking.experiment import furnish
from autotune.tracking.uri import Store

if TYPE_CHECKING:
    from mlflow import MlflowClient

# A person's own settings win. MLflow's defaults (7 retries of 120 s) would hold its user for a quarter of an hour. No
# retry at all: a request that was carried out and whose answer was lost would make a second run or a second version.
ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
_LONGEST_REASON = 200  # in characters

# What these say below the level is of no use to a person: tables made, requests retried, and what is raised anyway.
_CHATTER = {
    "alembic": logging.WARNING,
    "mlflow.store.db.utils": logging.CRITICAL,
    "urllib3.connectionpool": logging.ERROR,
}

# How the UI tells experiments that train models from those that evaluate language models.
_KIND = {"mlflow.experimentKind": "custom_model_development"}


@dataclass(frozen=True, slots=True)
class OpenStore:
    """A store that is ready to be written.

    Attributes:
        client: an MLflow client bound to it; no global tracking URI is set.
        experiment_id: of the experiment that runs go to.
    """

    store: Store
    client: MlflowClient
    experiment_id: str


def set_environment() -> None:
    """Switch telemetry off and keep waits short, before MLflow is imported; children inherit it."""
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)


@contextmanager
def connected(store: Store) -> Iterator[MlflowClient]:
    """Import MLflow and open the store, quietly; an SQLite file is held alone until this is left.

    Raises:
        TrackingError: the SQLite file cannot be written; whatever else goes wrong is raised as it is.
    """
    set_environment()
    from mlflow import MlflowClient

    _quiet()
    with database.alone(store.sqlite_file) if store.sqlite_file else nullcontext():
        client = MlflowClient(store.uri)
        _connect_anew(client)
        yield client


def prepare(store: Store, experiment: str) -> OpenStore:
    """Import MLflow, create or open the store, and create the experiment; seconds the first time.

    Raises:
        TrackingError: the store cannot be reached, or cannot be written.
    """
    try:
        if store.artifacts:
            Path(store.artifacts).mkdir(parents=True, exist_ok=True)
        with connected(store) as client:
            opened = OpenStore(store, client, _experiment_id(client, experiment, store.artifacts))
            furnish(client, opened.experiment_id)
            return opened
    except TrackingError:
        raise
    except Exception as error:  # noqa: BLE001 (databases, their drivers, HTTP clients: all raise their own)
        raise TrackingError(f"cannot open the MLflow store {store}: {reason(error)}{_remedy(store)}") from None


def _remedy(store: Store) -> str:
    if store.sqlite_file is None or not database.is_half_made(store.sqlite_file):
        return ""
    return f"; its making was cut off, nothing is in it: delete {store.sqlite_file}, and the next study makes it anew"


def reason(error: BaseException) -> str:
    """What went wrong, in one line without secrets: the beginning of a long text, and what was at the root of it."""
    text = _line(error)
    if len(text) <= _LONGEST_REASON:
        return text or type(error).__name__
    root = error
    while (before := root.__cause__ or (None if root.__suppress_context__ else root.__context__)) is not None:
        root = before
    return f"{text[:_LONGEST_REASON]} ... ({_line(root)[:_LONGEST_REASON]})"


def _line(error: BaseException) -> str:
    statement = "\n[SQL:"  # quoted by SQLAlchemy, with all its values
    return " ".join(masked(str(error)).partition(statement)[0].split())


def _connect_anew(client: MlflowClient) -> None:
    """A connection that was made while a database was read-only stays read-only, and MLflow keeps it for ever."""
    tracking: Any = getattr(client, "_tracking_client", None)
    engine = getattr(getattr(tracking, "store", None), "engine", None)  # a server's store has none
    if engine is not None:
        engine.dispose()


def _quiet() -> None:
    for logger, level in _CHATTER.items():
        logging.getLogger(logger).setLevel(level)


def _experiment_id(client: MlflowClient, name: str, artifacts: str | None) -> str:
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=artifacts, tags=_KIND))
        except MlflowException:  # another machine was first
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":  # its name stays taken until the store is purged
        client.restore_experiment(found.experiment_id)
    return str(found.experiment_id)
