"""Moving the alias `production` to a version, on a person's word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autotune.errors import UserError
from autotune.tracking.store import set_environment
from autotune.tracking.uri import Store, masked

if TYPE_CHECKING:
    from mlflow import MlflowClient

CANDIDATE = "candidate"
PRODUCTION = "production"


@dataclass(frozen=True, slots=True)
class Promotion:
    """What was done.

    Attributes:
        version: that `production` points at now.
        previous: that it pointed at before, or `None`.
        evidence: the version's tags, for a person to read.
    """

    registered_model: str
    version: str
    previous: str | None
    evidence: dict[str, str]


def promote(store: Store, registered_model: str, version: str | None = None) -> Promotion:
    """Point `production` at a version: the one given, else the one with the alias `candidate`.

    Raises:
        UserError: no such store, model or version, or no candidate.
    """
    if store.sqlite_file and not store.sqlite_file.is_file():
        raise UserError(f"there is no MLflow store at {store}: run a study first, or set tracking.uri or output.root")
    set_environment()
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    try:
        client = MlflowClient(store.uri)
        chosen = _version(client, registered_model, version)
        previous = _aliased(client, registered_model, PRODUCTION)
        client.set_registered_model_alias(registered_model, PRODUCTION, str(chosen.version))
    except MlflowException as error:
        raise UserError(f"cannot promote {registered_model} in {store}: {masked(str(error))}") from error
    return Promotion(
        registered_model, str(chosen.version), str(previous.version) if previous else None, dict(chosen.tags)
    )


def _version(client: MlflowClient, model: str, version: str | None) -> Any:
    from mlflow.exceptions import MlflowException

    versions = [str(found.version) for found in client.search_model_versions(f"name = '{_quoted(model)}'")]
    known = ", ".join(sorted(versions, key=int)) or "none"
    if version is None:
        if (candidate := _aliased(client, model, CANDIDATE)) is None:
            raise UserError(
                f"no version of the model {model!r} has the alias '{CANDIDATE}' (its versions: {known}): "
                "export one first, or name a version"
            )
        return candidate
    try:
        return client.get_model_version(model, version)
    except MlflowException:
        raise UserError(f"the version must be one of the model {model!r} ({known}), but got {version!r}") from None


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
