"""A study's workers: one at a time, started when needed, all with the same data."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from autotune import codec
from autotune.config.schema import Config
from autotune.errors import TrialFault, UserError
from autotune.interruption import held
from autotune.trial import DatasetFacts, FailureKind, WorkerFacts
from autotune.worker.process import WorkerProcess
from autotune.worker.protocol import understood
from autotune.worker.time_limits import TimeLimits


class Workers:
    """Starts, ends and counts them.

    Args:
        config: the run's configuration.
        spawn: makes a process.
        limits: of the time that a start may take.
        on_ready: called with a worker's number and facts whenever a new one has started.
        before: how many workers earlier sessions of the study had.

    Attributes:
        number: of the worker that is there, or was last.
    """

    def __init__(
        self,
        config: Config,
        spawn: Callable[[], WorkerProcess],
        limits: TimeLimits,
        on_ready: Callable[[int, WorkerFacts, DatasetFacts], None],
        before: int,
    ) -> None:
        self._config = config
        self._spawn = spawn
        self._limits = limits
        self._on_ready = on_ready
        self.number = before
        self._process: WorkerProcess | None = None
        self._resident_at_start_mb = 0.0
        self._data: DatasetFacts | None = None

    def loaded(self) -> DatasetFacts:
        """The data's facts, with a worker that has loaded it and may not have the framework.

        Raises:
            UserError: the data cannot be had.
            TrialFault: the worker failed, or this worker's data is not what the first one's was.
        """
        return self._open()[1]

    def ready(self) -> WorkerProcess:
        """A worker with data, framework, builder and metric.

        Raises:
            UserError: the data, the builder or the metric cannot be had.
            TrialFault: the framework does not start.
        """
        if self._process is not None and self._resident_at_start_mb:
            return self._process
        process, data = self._open()
        try:
            facts = understood(WorkerFacts, "start", process.ask("start", {}, self._limits.start_s))
            process.ask("prepare", {}, self._limits.start_s)
        except BaseException:
            self.kill()
            raise
        self._resident_at_start_mb = process.resident_mb()
        self._on_ready(self.number, facts, data)
        return process

    def replace_if_grown(self, most_mb: float) -> None:
        """End the worker if it has grown by more than `most_mb` since it was ready."""
        if self._process is not None and self._process.resident_mb() - self._resident_at_start_mb > most_mb:
            self.close()

    def close(self) -> None:
        """End the worker, if there is one; the next that is asked for is a fresh one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def kill(self) -> None:
        """The same at once."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _open(self) -> tuple[WorkerProcess, DatasetFacts]:
        if self._process is None:
            self._resident_at_start_mb = 0.0
            with held():  # a process that nobody knows of would be left running
                self._process = self._spawn()
            self.number += 1
            try:
                self._check_same(self._load(self._process))
            except BaseException:
                self.kill()
                raise
        assert self._data is not None
        return self._process, self._data

    def _load(self, process: WorkerProcess) -> DatasetFacts:
        began = time.monotonic()
        try:
            plain = process.ask("open", {"config": codec.plain(self._config)}, self._limits.load_s)
        except UserError as error:
            if self._data is None:
                raise
            # The same request was answered before: now it is a fault of a trial, and no reason to end a study.
            raise TrialFault(FailureKind.INVALID, f"the data could not be loaded again: {error}") from error
        self._limits.loaded(time.monotonic() - began)
        return understood(DatasetFacts, "open", plain)

    def _check_same(self, data: DatasetFacts) -> None:
        """Every worker of a study sees the same examples."""
        if self._data is None:
            self._data = data
            # A stand-in was settled upon once; no later worker waits for the network to refuse again.
            settled = dataclasses.replace(self._config.data, download=False)
            self._config = dataclasses.replace(self._config, data=settled)
        elif data.fingerprint != self._data.fingerprint:
            raise TrialFault(FailureKind.INVALID, f"the data of {data.origin} changed while the study ran")
