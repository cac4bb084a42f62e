"""Moving the alias `production` to the candidate version, on a person's word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autotune.errors import UserError
from autotune.masking import masked
from autotune.tracking.names import CANDIDATE, PRODUCTION
from autotune.tracking.store import set_environment
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
    if store.sqlite_file and not store.sqlite_file.is_file():
        raise UserError(f"there is no MLflow store at {store}: run a study first, or set tracking.uri or output.root")
    set_environment()
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    try:
        client = MlflowClient(store.uri)
        candidate = _candidate(client, registered_model)
        previous = _aliased(client, registered_model, PRODUCTION)
    except MlflowException as error:
        raise _refused(store, registered_model, error) from error
    return Promotion(
        registered_model, str(candidate.version), str(previous.version) if previous else None, dict(candidate.tags)
    )


def promote(store: Store, promotion: Promotion) -> None:
    """Point `production` at the proposed version.

    Raises:
        UserError: the store refuses, such as for a version that is gone.
    """
    set_environment()
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    try:
        client = MlflowClient(store.uri)
        client.set_registered_model_alias(promotion.registered_model, PRODUCTION, promotion.version)
    except MlflowException as error:
        raise _refused(store, promotion.registered_model, error) from error


def _refused(store: Store, model: str, error: Exception) -> UserError:
    return UserError(f"cannot promote {model} in {store}: {masked(str(error))}")


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
