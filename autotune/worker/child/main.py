"""The worker's loop: read a request, do it, answer. Nothing here decides anything.

Run by the parent as `python -m autotune.worker.child.main <read fd> <write fd>`.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from autotune import codec
from autotune.config.schema import Config
from autotune.data import Dataset, load
from autotune.errors import TrialFault, UserError
from autotune.trial import DatasetFacts, Failure, FailureKind
from autotune.worker.protocol import (
    Answer,
    EvaluateArgs,
    ExportArgs,
    ProbeArgs,
    RegisterArgs,
    ReloadArgs,
    Request,
    TrainArgs,
)


class Session:
    """One worker's state: its configuration, its data, and what it has built."""

    def __init__(self) -> None:
        self._config: Config | None = None
        self._dataset: Dataset | None = None
        self._prober: Any = None
        self._trainer: Any = None

    def open(self, config: dict[str, Any]) -> DatasetFacts:
        """Load the data, before the framework: a missing file is told within a second or two."""
        self._config = codec.restore(Config, config)
        dataset = self._dataset = load(self._config.data)
        return DatasetFacts(
            name=dataset.name,
            train=len(dataset.train),
            validation=len(dataset.validation),
            test=len(dataset.test),
            input_shape=tuple(dataset.input_shape),
            num_classes=dataset.num_classes,
            origin=dataset.origin,
            fingerprint=dataset.fingerprint,
            stand_in=dataset.stand_in,
            notes=tuple(dataset.notes),
        )

    def start(self) -> Any:
        """Import the framework."""
        from autotune.worker.child import framework

        return framework.start()

    def prepare(self) -> None:
        """Find the builder and the metric, so that a wrong name is told before anything is measured."""
        from autotune.worker.child.build import ModelBuilder
        from autotune.worker.child.feed import Feed
        from autotune.worker.child.probe import Prober
        from autotune.worker.child.train import Trainer

        config, dataset = self._opened()
        feed = Feed(dataset.train, config.data.split_seed)
        builder = ModelBuilder(config, tuple(dataset.input_shape), dataset.num_classes)
        self._prober = Prober(builder, feed)
        self._trainer = Trainer(config, dataset, builder, feed)

    def probe(self, args: dict[str, Any]) -> Any:
        """See `Prober.probe`."""
        return self._prober.probe(codec.restore(ProbeArgs, args))

    def train(self, args: dict[str, Any]) -> Any:
        """See `Trainer.train`."""
        return self._trainer.train(codec.restore(TrainArgs, args))

    def evaluate(self, args: dict[str, Any]) -> Any:
        """See `artifacts.evaluate`."""
        from autotune.worker.child import artifacts

        _, dataset = self._opened()
        return artifacts.evaluate(codec.restore(EvaluateArgs, args), dataset, self._trainer.metric)

    def export(self, args: dict[str, Any]) -> None:
        """See `artifacts.export`."""
        from autotune.worker.child import artifacts

        _, dataset = self._opened()
        artifacts.export(codec.restore(ExportArgs, args), dataset)

    def reload(self, args: dict[str, Any]) -> float:
        """See `artifacts.reload_difference`."""
        from autotune.worker.child import artifacts

        return artifacts.reload_difference(codec.restore(ReloadArgs, args))

    def register(self, args: dict[str, Any]) -> Any:
        """See `autotune.tracking.register`."""
        import numpy as np

        from autotune.tracking.register import register_model

        asked = codec.restore(RegisterArgs, args)
        with np.load(asked.reference_path) as reference:
            example = reference["x"][:2]
        return register_model(
            model_path=asked.model_path,
            tracking_uri=asked.tracking_uri,
            run_id=asked.run_id,
            artifact_name="model",
            registered_model=asked.registered_model,
            alias=asked.alias,
            tags=asked.tags,
            pip_requirements=asked.pip_requirements,
            signature_example=example,
        )

    def _opened(self) -> tuple[Config, Dataset]:
        if self._config is None or self._dataset is None:
            raise RuntimeError("the worker was asked to work before its data was loaded")
        return self._config, self._dataset


OPERATIONS = ("open", "start", "prepare", "probe", "train", "evaluate", "export", "reload", "register")


def answer(session: Session, request: Request) -> Answer:
    """Do one request; whatever goes wrong is part of the answer."""
    try:
        operation: Callable[..., Any] = getattr(session, request.operation)
        return Answer(value=codec.plain(operation(**request.args)))
    except UserError as error:
        return Answer(user_error=(type(error).__name__, str(error)))
    except TrialFault as fault:
        return Answer(failure=Failure(FailureKind(fault.kind), fault.message, fault.detail))
    except Exception as error:  # noqa: BLE001 (a fault is an answer too)
        from autotune.worker.child.faults import kind_of

        traceback.print_exc()  # the worker's log keeps the whole of it
        kind, message = kind_of(error)
        return Answer(failure=Failure(kind, message, traceback.format_exc()[-4000:]))


def serve(read_fd: int, write_fd: int) -> None:
    """Answer requests until the parent closes its end, which also happens when it dies."""
    session = Session()
    with os.fdopen(read_fd, encoding="utf-8") as requests, os.fdopen(write_fd, "w", encoding="utf-8") as answers:
        for line in requests:
            request = codec.loads(Request, line)
            answers.write(codec.dumps(answer(session, request)) + "\n")
            answers.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
