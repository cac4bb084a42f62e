"""Takes a model apart in a worker that sees no GPU, whatever the target."""

from __future__ import annotations

from pathlib import Path

from autotune import codec
from autotune.config.schema import Config
from autotune.interruption import held
from autotune.trial import DatasetFacts, WorkerFacts
from autotune.trial.anatomy import ModelAnatomy
from autotune.worker.executor import ENVIRONMENT
from autotune.worker.process import WorkerProcess
from autotune.worker.protocol import InspectArgs, understood
from autotune.worker.time_limits import TimeLimits

_NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}


class InspectionWorker:
    """One process for one inspection.

    Args:
        config: the run's configuration.
        log_path: file for what the worker prints.
        memory_limit_mb: see `WorkerProcess`.
    """

    def __init__(self, config: Config, log_path: Path, memory_limit_mb: float | None) -> None:
        self._config = config
        self._limits = TimeLimits(config.search.trial_timeout_s)
        with held():  # a process that nobody knows of would be left running
            self._process = WorkerProcess({**ENVIRONMENT, **_NO_GPU}, log_path, memory_limit_mb)

    def load_data(self) -> DatasetFacts:
        """Load the data, before the framework.

        Raises:
            UserError: the data cannot be had.
            TrialFault: the worker failed.
        """
        plain = self._process.ask("open", {"config": codec.plain(self._config)}, self._limits.load_s)
        return understood(DatasetFacts, "open", plain)

    def start(self) -> WorkerFacts:
        """Import the framework.

        Raises:
            TrialFault: it does not start.
        """
        return understood(WorkerFacts, "start", self._process.ask("start", {}, self._limits.start_s))

    def inspect(self, args: InspectArgs) -> ModelAnatomy:
        """The model's anatomy.

        Raises:
            UserError: a person's mistake that shows only when the model is built.
            TrialFault: it cannot be built or traced in float32.
        """
        plain = self._process.ask("inspect", {"args": codec.plain(args)}, None, self._limits.start_s)
        return understood(ModelAnatomy, "inspect", plain)

    def close(self) -> None:
        """End the process."""
        self._process.close()
