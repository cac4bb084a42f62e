"""Moving the alias `production` to the candidate version, on a person's word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autotune.errors import UserError
from autotune.tracking import database
from autotune.tracking.names import CANDIDATE, PRODUCTION
from autotune.tracking.store import connected, reason
from autotune.tracking.uri import Store

if TYPE_CHECKING:
    from mlflow import MlflowClient


@dataclass(frozen=True, slots=True)
class Promotion:
    """What there is to decide on.

    Attributes:
        version: with the alias `candidate`, that `production` shall point at.
        previous: that it points at now, or `None`.
        evidence: the version's tags, for a person to read.
    """

    registered_model: str
    version: str
    previous: str | None
    evidence: dict[str, str]


def proposed(store: Store, registered_model: str) -> Promotion:
    """The version with the alias `candidate` and its evidence; nothing is changed.

    Raises:
        UserError: no such store or model, or no candidate.
    """
    if store.sqlite_file and database.is_empty(store.sqlite_file):
        raise UserError(f"there is no MLflow store at {store}: run a study first, or set tracking.uri or output.root")
    with _opened(store, registered_model) as client:
        candidate = _candidate(client, registered_model)
        previous = _aliased(client, registered_model, PRODUCTION)
    return Promotion(
        registered_model, str(candidate.version), str(previous.version) if previous else None, dict(candidate.tags)
    )


def promote(store: Store, promotion: Promotion) -> None:
    """Point `production` at the proposed version.

    Raises:
        UserError: the store refuses, such as for a version that is gone.
    """
    with _opened(store, promotion.registered_model) as client:
        client.set_registered_model_alias(promotion.registered_model, PRODUCTION, promotion.version)


@contextmanager
def _opened(store: Store, model: str) -> Iterator[MlflowClient]:
    """The store's client; whatever the store raises is one line for a person."""
    try:
        with connected(store) as client:
            yield client
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 (databases, their drivers, HTTP clients: all raise their own)
        raise UserError(f"cannot promote {model} in {store}: {reason(error)}") from None


def _candidate(client: MlflowClient, model: str) -> Any:
    if (candidate := _aliased(client, model, CANDIDATE)) is not None:
        return candidate
    versions = [int(found.version) for found in client.search_model_versions(f"name = '{_quoted(model)}'")]
    known = ", ".join(map(str, sorted(versions))) or "none"
    raise UserError(
        f"no version of the model {model!r} has the alias '{CANDIDATE}' (its versions: {known}): export one with a"
        " study, or give one the alias in MLflow"
    )


def _aliased(client: MlflowClient, model: str, alias: str) -> Any:
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version_by_alias(model, alias)
    except MlflowException as error:
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            return None
        raise


def _quoted(text: str) -> str:
    return text.replace("'", "\\'")
