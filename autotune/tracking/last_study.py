"""The last study of a store, found in a moment and without MLflow: a database file is read, a server asked by HTTP."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from autotune.errors import UserError
from autotune.masking import masked
from autotune.tracking.pages import of_sweep
from autotune.tracking.uri import Store

STUDY_KEY = "autotune.study"
"""The tag that a study's own run has, and its trials' have not."""

TIME_LIMIT_S = 10.0

_LAST = """
    SELECT runs.run_uuid, runs.experiment_id, runs.name FROM runs
    JOIN tags ON tags.run_uuid = runs.run_uuid AND tags.key = ?
    WHERE runs.lifecycle_stage = 'active' ORDER BY runs.start_time DESC LIMIT 1
"""
_TAG = "SELECT value FROM tags WHERE run_uuid = ? AND key = ?"
_OF_SWEEP = """
    SELECT DISTINCT runs.experiment_id FROM runs
    JOIN tags ON tags.run_uuid = runs.run_uuid AND tags.key = 'sweep' AND tags.value = ?
    WHERE runs.lifecycle_stage = 'active' ORDER BY runs.experiment_id
"""


@dataclass(frozen=True, slots=True)
class LastStudy:
    """The study that began last.

    Attributes:
        sweep: the multirun that it is a job of, or None.
        experiments: ids of those that have studies of that multirun.
    """

    run_id: str
    experiment_id: str
    name: str
    sweep: str | None = None
    experiments: tuple[str, ...] = ()


def last_study(store: Store) -> LastStudy | None:
    """The study that began last; None if there is none, or in a store that only MLflow itself can read.

    Raises:
        UserError: the store cannot be read.
    """
    if store.sqlite_file is not None:
        return _of_file(store.sqlite_file)
    if is_server(store):
        return _of_server(store)
    return None


def is_server(store: Store) -> bool:
    """Whether the store is an MLflow server, which has a UI of its own."""
    return store.uri.startswith(("http://", "https://"))


def can_be_asked(store: Store) -> bool:
    """Whether `last_study` can tell anything of this kind of store."""
    return store.sqlite_file is not None or is_server(store)


def without_login(uri: str) -> str:
    """A server's address without its user and password, as a browser is given it."""
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


def _of_file(file: Path) -> LastStudy | None:
    if not file.is_file():
        raise UserError(f"there is no MLflow store at {file}: make one with: make run")
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=TIME_LIMIT_S)) as database:
            if (found := database.execute(_LAST, (STUDY_KEY,)).fetchone()) is None:
                return None
            run_id, experiment_id, name = found
            tag = database.execute(_TAG, (run_id, "sweep")).fetchone()
            of_sweep = database.execute(_OF_SWEEP, tag).fetchall() if tag else []
    except sqlite3.Error as error:
        raise UserError(f"{file} cannot be read as an MLflow store: {error}") from None
    experiments = tuple(str(number) for (number,) in of_sweep)
    return LastStudy(str(run_id), str(experiment_id), str(name), tag[0] if tag else None, experiments)


def _of_server(store: Store) -> LastStudy | None:
    try:
        listed = _ask(store, "experiments/search", {"max_results": 1000}).get("experiments", [])
        ids = [experiment["experiment_id"] for experiment in listed]
        found = _runs(store, ids, f"tags.`{STUDY_KEY}` LIKE '%'", 1)
        if not found:
            return None
        info, sweep = found[0]["info"], _tag(found[0], "sweep")
        siblings = _runs(store, ids, of_sweep(sweep), 1000) if sweep else []
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise UserError(f"the MLflow server at {store} cannot be asked: {masked(str(error))}") from None
    experiments = dict.fromkeys(run["info"]["experiment_id"] for run in siblings)
    return LastStudy(info["run_id"], info["experiment_id"], info.get("run_name", ""), sweep, tuple(experiments))


def _runs(store: Store, experiments: list[str], condition: str, most: int) -> list[dict[str, Any]]:
    asked = {"experiment_ids": experiments, "filter": condition, "max_results": most}
    runs = _ask(store, "runs/search", asked | {"order_by": ["attributes.start_time DESC"]}).get("runs", [])
    return list(runs)


def _tag(run: Mapping[str, Any], key: str) -> str | None:
    return next((tag["value"] for tag in run["data"].get("tags", []) if tag["key"] == key), None)


def _ask(store: Store, what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Raises `OSError` if the server does not answer, or not with what was asked for."""
    headers = {"Content-Type": "application/json"} | _login(store.uri)
    address = f"{without_login(store.uri)}/api/2.0/mlflow/{what}"
    request = urllib.request.Request(address, json.dumps(asked).encode(), headers)
    with urllib.request.urlopen(request, timeout=TIME_LIMIT_S) as answer:
        return dict(json.load(answer))


def _login(uri: str) -> dict[str, str]:
    """What MLflow's own client would send: of the address, else of its variables."""
    parts = urlsplit(uri)
    user = unquote(parts.username or "") or os.environ.get("MLFLOW_TRACKING_USERNAME", "")
    password = unquote(parts.password or "") or os.environ.get("MLFLOW_TRACKING_PASSWORD", "")
    if not user or not password:
        token = os.environ.get("MLFLOW_TRACKING_TOKEN")
        return {"Authorization": f"Bearer {token}"} if token else {}
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}
