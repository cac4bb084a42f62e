"""Where a study gets its measurements: `probe` and `train`. The local executor asks one worker process at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from autotune import codec
from autotune.config.objective import Objective
from autotune.config.schema import Config
from autotune.errors import TrialFault, UserError
from autotune.trial import Candidate, DatasetFacts, FailureKind, Probe, Recipe, Stage, TrainingRun, WorkerFacts
from autotune.worker.apart import probe_apart
from autotune.worker.bare import BareWorker
from autotune.worker.process import WorkerProcess
from autotune.worker.protocol import (
    EvaluateArgs,
    Evaluation,
    ExportArgs,
    ProbeArgs,
    TrainArgs,
)

T = TypeVar("T")

# Importing the framework takes 5 to 10 s here and can take a minute from a cold network disk.
_START_TIMEOUT_S = 300.0

# NVML renews a GPU's energy counter some tens of times a second: a block of 0.1 s would count a few of its steps.
_ENERGY_BLOCK_S = 1.0

# A training that takes this many times its expected time hangs.
_SLACK = 20.0


class Executor(Protocol):
    """What a study may ask for."""

    def probe(
        self, candidate: Candidate, recipe: Recipe, reference: tuple[Candidate, Recipe] | None, stage: Stage
    ) -> Probe:
        """Time a candidate, in blocks that alternate with the reference's if there is one; more exactly to confirm.

        Raises:
            TrialFault: it could not be measured.
        """

    def train(self, candidate: Candidate, seed: int, recipe: Recipe, keep_path: Path | None = None) -> TrainingRun:
        """Train a candidate on one seed.

        Raises:
            TrialFault: there is no result.
        """

    def replace(self) -> None:
        """Go on in a fresh process."""


class LocalExecutor:
    """Measures on this machine, in one child process that is reused, and replaced after a failure or when it has grown.

    Args:
        config: the run's configuration.
        log_path: file for what workers print.
        memory_limit_mb: see `WorkerProcess`.
        on_ready: called with the worker's number and facts whenever a new one has started.
    """

    def __init__(
        self,
        config: Config,
        log_path: Path,
        memory_limit_mb: float | None,
        on_ready: Callable[[int, WorkerFacts, DatasetFacts], None] = lambda *_: None,
    ) -> None:
        self._config = config
        self._log_path = log_path
        self._memory_limit_mb = memory_limit_mb
        self._on_ready = on_ready
        self._process: WorkerProcess | None = None
        self._number = 0
        self._resident_at_start_mb = 0.0
        self._data: DatasetFacts | None = None
        self._step_time_ms: dict[Candidate, float] = {}
        self._apart: list[tuple[Candidate, Candidate | None]] = []
        self._fed: set[Candidate] = set()  # whose pipeline was timed: once is enough

    def load_data(self) -> DatasetFacts:
        """Start a process and load the data in it, without the framework.

        Raises:
            DataError, ConfigError: the data cannot be had.
        """
        return self._open()[1]

    def start(self) -> None:
        """Have a worker ready.

        Raises:
            UserError: the data, the builder or the metric cannot be had.
            TrialFault: the framework does not start.
        """
        self._ready()

    def probe(
        self, candidate: Candidate, recipe: Recipe, reference: tuple[Candidate, Recipe] | None, stage: Stage
    ) -> Probe:
        """See `Executor.probe`."""
        timing = self._config.search.timing
        ranks_only = stage in (Stage.BASELINE, Stage.SCREEN)
        energy = self._config.objective.name is Objective.energy
        args = ProbeArgs(
            candidate=candidate,
            recipe=recipe,
            reference=reference[0] if reference else None,
            reference_recipe=reference[1] if reference else None,
            seed=self._config.train.seed,
            block_s=max(timing.block_s, _ENERGY_BLOCK_S) if energy else timing.block_s,
            min_pairs=timing.min_pairs,
            max_pairs=timing.max_pairs,
            half_width=timing.screen_half_width if ranks_only else timing.half_width,
            max_s=timing.screen_max_s if ranks_only else timing.max_s,
            pipeline=timing.pipeline and candidate not in self._fed and stage in (Stage.BASELINE, Stage.CONFIRM),
        )
        apart = reference is not None and self._too_large_together(candidate, reference[0])
        probe = self._probe_apart(args) if apart else self._probe_together(args)
        self._step_time_ms[candidate] = probe.step_time_ms
        if probe.pipeline is not None:
            self._fed.add(candidate)
        return dataclasses.replace(probe, worker=self._number)

    def _probe_together(self, args: ProbeArgs) -> Probe:
        """Both models in one worker; apart where they do not fit into its memory together."""
        try:
            return self._probe(args)
        except TrialFault as fault:
            if args.reference is None or fault.kind != FailureKind.OOM:
                raise
        probe = self._probe_apart(args)
        self._apart.append((args.candidate, args.reference))
        return probe

    def _probe_apart(self, args: ProbeArgs) -> Probe:
        """Each in workers of its own, never two at once."""

        def alone(asked: ProbeArgs) -> Probe:
            self.replace()
            return self._probe(asked)

        return probe_apart(alone, args, self._config.search.timing.rounds)

    def _probe(self, args: ProbeArgs) -> Probe:
        return self._ask("probe", args, Probe, self._config.search.trial_timeout_s)

    def _too_large_together(self, candidate: Candidate, reference: Candidate) -> bool:
        """Whether one of the same model that is no larger did not fit beside this reference."""
        return any(
            beside == reference
            and (candidate.policy, candidate.widths) == (one.policy, one.widths)
            and candidate.batch_size >= one.batch_size
            for one, beside in self._apart
        )

    def train(self, candidate: Candidate, seed: int, recipe: Recipe, keep_path: Path | None = None) -> TrainingRun:
        """See `Executor.train`. A candidate that was never probed is trained without a time limit."""
        args = TrainArgs(candidate, recipe, seed, None if keep_path is None else str(keep_path))
        run = self._ask("train", args, TrainingRun, self._training_limit_s(candidate, recipe))
        return dataclasses.replace(run, worker=self._number)

    def _training_limit_s(self, candidate: Candidate, recipe: Recipe) -> float | None:
        """`search.trial_timeout_s`, or many times what its own step time lets expect, if that is longer."""
        if (step_ms := self._step_time_ms.get(candidate)) is None:
            return None
        return max(self._config.search.trial_timeout_s, _SLACK * recipe.total_steps * step_ms / 1e3)

    def evaluate(self, args: EvaluateArgs) -> Evaluation:
        """Metrics on the test part."""
        return self._ask("evaluate", args, Evaluation, None)

    def export(self, args: ExportArgs) -> None:
        """Write the SavedModel and the reload check's reference."""
        self._ask("export", args, type(None), None)

    @contextmanager
    def aside(self) -> Iterator[BareWorker]:
        """A fresh process that has neither data nor policy; the study's own worker is ended first, so there is one."""
        self.close()
        process = self._spawn()
        try:
            process.ask("start", {}, _START_TIMEOUT_S)
            yield BareWorker(process, self._config.search.trial_timeout_s)
        finally:
            process.close()

    def replace(self) -> None:
        """End the worker; the next request starts a fresh one."""
        self.close()

    def close(self) -> None:
        """End the worker; nothing is left running."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _ask(self, operation: str, args: Any, kind: type[T], timeout_s: float | None) -> T:
        process = self._ready()
        try:
            value = process.ask(operation, {"args": codec.plain(args)}, timeout_s)
        except TrialFault:
            self._drop()
            raise
        except BaseException:
            self._drop()
            raise
        if process.resident_mb() - self._resident_at_start_mb > self._config.search.max_worker_growth_mb:
            self.close()
        return codec.restore(kind, value) if kind is not type(None) else value

    def _ready(self) -> WorkerProcess:
        if self._process is not None and self._resident_at_start_mb:
            return self._process
        process, data = self._open()
        try:
            facts = codec.restore(WorkerFacts, process.ask("start", {}, _START_TIMEOUT_S))
            process.ask("prepare", {}, _START_TIMEOUT_S)
        except BaseException:
            self._drop()
            raise
        self._resident_at_start_mb = process.resident_mb()
        self._on_ready(self._number, facts, data)
        return process

    def _open(self) -> tuple[WorkerProcess, DatasetFacts]:
        if self._process is None:
            self._number += 1
            self._resident_at_start_mb = 0.0
            self._process = self._spawn()
            try:
                plain = self._process.ask("open", {"config": codec.plain(self._config)}, None)
            except UserError as error:
                self._drop()
                if self._data is None:
                    raise
                # The same request was answered before: now it is a fault of a trial, and no reason to end a study.
                raise TrialFault(FailureKind.INVALID, f"the data could not be loaded again: {error}") from error
            except BaseException:
                self._drop()
                raise
            self._check_same(codec.restore(DatasetFacts, plain))
        assert self._data is not None
        return self._process, self._data

    def _check_same(self, data: DatasetFacts) -> None:
        """Every worker of a study sees the same examples."""
        if self._data is None:
            self._data = data
            # A stand-in was settled upon once; no later worker waits for the network to refuse again.
            settled = dataclasses.replace(self._config.data, download=False)
            self._config = dataclasses.replace(self._config, data=settled)
        elif data.fingerprint != self._data.fingerprint:
            self._drop()
            raise TrialFault(FailureKind.INVALID, f"the data of {data.origin} changed while the study ran")

    def _spawn(self) -> WorkerProcess:
        return WorkerProcess(ENVIRONMENT, self._log_path, self._memory_limit_mb)

    def _drop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


ENVIRONMENT = {
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PYTHONUNBUFFERED": "1",
}
"""Variables of every worker; a person's own settings of TensorFlow, XLA and oneDNN are inherited and recorded."""
