"""Logging and registering the exported model. Called inside the worker, the only place that has Keras."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autotune.tracking.names import shortened, spelt
from autotune.tracking.store import set_environment
from autotune.tracking.version import version_description

# What a database of MLflow's holds of it.
_MOST_DESCRIPTION = 5000

if TYPE_CHECKING:
    import numpy as np


def register_model(
    *,
    model_path: Path | str,
    tracking_uri: str,
    run_id: str,
    artifact_name: str,
    registered_model: str,
    alias: str,
    tags: Mapping[str, Any],
    pip_requirements: Sequence[str],
    signature_example: np.ndarray[Any, Any],
    load: Callable[[Path | str], Any] | None = None,
) -> dict[str, str]:
    """Log a `.keras` file on a run, make it a version of a registered model, and point an alias at that version.

    The Keras flavour is used: it keeps the file as Keras writes it. Requirements are given, since finding them
    out takes MLflow 15 s. The optimizer's state is left behind, as serving needs none.

    Args:
        model_path: the trained model.
        tracking_uri: absolute.
        run_id: the study's parent run.
        artifact_name: name of the logged model.
        registered_model: name in the registry; made if new.
        alias: `production` or `candidate`.
        tags: the evidence, kept on the version; `None` values are left out.
        pip_requirements: such as `keras==3.15.1`.
        signature_example: a batch of inputs, float32, shape (examples, ...).
        load: loads the model; by default as Keras does, which does not find a person's own layers.

    Returns:
        name, version, alias, and model_uri: the address of exactly this version, `models:/name/version`.
    """
    set_environment()
    import mlflow

    mlflow.set_tracking_uri(tracking_uri)
    # `Model.log` takes the artifact folder of the current experiment, by default ./mlruns, and not that of the run.
    mlflow.set_experiment(experiment_id=mlflow.MlflowClient().get_run(run_id).info.experiment_id)
    model = load(model_path) if load else _load(model_path)
    logged = _logged(model, run_id, artifact_name, list(pip_requirements), signature_example)
    client = mlflow.MlflowClient()
    told = {key: spelt(value) for key, value in tags.items() if value is not None}
    _create(client, registered_model)
    version = client.create_model_version(
        registered_model,
        source=logged.model_uri,
        run_id=run_id,
        tags=told,
        description=shortened(version_description(told), _MOST_DESCRIPTION),
        model_id=logged.model_id,
    ).version
    client.set_registered_model_alias(registered_model, alias, str(version))
    for key, value in (("registered_model", registered_model), ("model_version", version), ("model_alias", alias)):
        client.set_tag(run_id, key, str(value))
    uri = f"models:/{registered_model}/{version}"
    return {"name": registered_model, "version": str(version), "alias": alias, "model_uri": uri}


def _load(path: Path | str) -> Any:
    import keras

    return keras.saving.load_model(path, compile=False)


def _logged(model: Any, run_id: str, name: str, requirements: list[str], example: np.ndarray[Any, Any]) -> Any:
    import keras
    import mlflow
    from mlflow.models import Model, infer_signature

    prediction = keras.ops.convert_to_numpy(model(example, training=False))
    # mlflow.keras.log_model has no run_id, and a global active run would end the parent run when left.
    return Model.log(
        artifact_path=None,
        name=name,
        flavor=mlflow.keras,
        model=model,
        run_id=run_id,
        signature=infer_signature(example, prediction),
        pip_requirements=requirements,
    )


def _create(client: Any, name: str) -> None:
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(name, description="Exported by autotune; each version's tags hold its evidence.")
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
