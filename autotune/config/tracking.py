"""`tracking=...`: where trials are recorded besides the local record."""

from dataclasses import dataclass
from typing import Optional

from autotune.config.checks import require


@dataclass
class TrackingConfig:
    """MLflow.

    Attributes:
        enabled: whether anything is sent to MLflow.
        uri: tracking URI; null: the MLFLOW_TRACKING_URI variable, else an SQLite store in the output root.
        experiment: name of the experiment; null: `autotune-<model>`.
        registered_model: name of the registered model; null: `<model>`.
        log_model: whether the exported model is logged and registered.
    """

    enabled: bool = True
    uri: Optional[str] = None
    experiment: Optional[str] = None
    registered_model: Optional[str] = None
    log_model: bool = True

    def __post_init__(self) -> None:
        uri = self.uri or ""
        require(
            not uri.startswith("file:"),
            "tracking.uri must name a store that this MLflow still writes",
            self.uri,
            "file stores are gone since MLflow 3.13: use sqlite:///path/mlflow.db or a server's address",
        )
