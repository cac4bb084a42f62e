"""The data of a study as MLflow's own kind of input, which its tables and the run's page show."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autotune.masking import masked
from autotune.record.view import StudyView
from autotune.tracking.names import shortened

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput

_CONTEXT = "mlflow.data.context"

# Limits of MLflow 3 (mlflow.utils.validation), in characters.
_MOST_NAME, _MOST_DIGEST, _MOST_SOURCE = 500, 36, 10_000


@dataclass(frozen=True, slots=True)
class UsedData:
    """One dataset.

    Attributes:
        digest: of its contents and its split.
        origin: where it was read from.
        sizes: examples by part.
    """

    name: str
    digest: str
    origin: str
    sizes: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, view: StudyView) -> UsedData | None:
        """What the study's workers loaded; None until one has."""
        if view.worker is None:
            return None
        data = view.worker.data
        name = f"{data.name} (STAND-IN)" if data.stand_in else data.name
        sizes = (("train", data.train), ("validation", data.validation), ("test", data.test))
        return cls(name, data.fingerprint[:_MOST_DIGEST], masked(data.origin), sizes)

    def as_input(self) -> DatasetInput:
        """What a run is told."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        source = json.dumps({"uri": shortened(self.origin, _MOST_SOURCE // 2)})
        name = shortened(self.name, _MOST_NAME)
        dataset = Dataset(name, self.digest, "local", source, profile=json.dumps(dict(self.sizes)))
        return DatasetInput(dataset, [InputTag(_CONTEXT, "training")])
