"""The executor of this machine (see `autotune.worker.contract`): it asks one worker process at a time."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from autotune import codec
from autotune.config.objective import Objective
from autotune.config.schema import Config
from autotune.errors import TrialFault
from autotune.interruption import held
from autotune.trial import (
    Candidate,
    DatasetFacts,
    EarlyStop,
    FailureKind,
    LayerHarm,
    Probe,
    Recipe,
    Stage,
    TrainingRun,
    WorkerFacts,
)
from autotune.trial.anatomy import ModelAnatomy
from autotune.worker.apart import probe_apart
from autotune.worker.bare import BareWorker
from autotune.worker.process import WorkerProcess
from autotune.worker.protocol import (
    EvaluateArgs,
    Evaluation,
    ExportArgs,
    HarmArgs,
    InspectArgs,
    ProbeArgs,
    TrainArgs,
    understood,
)
from autotune.worker.second_try import told_twice, worth_another_try
from autotune.worker.time_limits import TimeLimits
from autotune.worker.workers import Workers

T = TypeVar("T")

# NVML renews a GPU's energy counter some tens of times a second: a block of 0.1 s would count a few of its steps.
_ENERGY_BLOCK_S = 1.0


class LocalExecutor:
    """Measures on this machine, in one child process that is reused, and replaced after a failure or when it has grown.

    Args:
        config: the run's configuration.
        log_path: file for what workers print.
        memory_limit_mb: see `WorkerProcess`.
        on_ready: called with the worker's number and facts whenever a new one has started.
        workers_before: how many workers earlier sessions of the study had; the next one counts on.
        on_retry: called with the operation and the fault of a first try before the second.
    """

    def __init__(
        self,
        config: Config,
        log_path: Path,
        memory_limit_mb: float | None,
        on_ready: Callable[[int, WorkerFacts, DatasetFacts], None] = lambda *_: None,
        workers_before: int = 0,
        on_retry: Callable[[str, TrialFault], None] = lambda *_: None,
    ) -> None:
        self._config = config
        self._log_path = log_path
        self._memory_limit_mb = memory_limit_mb
        self._on_retry = on_retry
        self._limits = TimeLimits(config.search.trial_timeout_s)
        self._workers = Workers(config, self._spawn, self._limits, on_ready, workers_before)
        self._fruitless = 0  # second tries in a row that have failed too
        self._apart: list[tuple[Candidate, Candidate | None]] = []
        self._tf32: list[bool | None] = []  # what the worker has run with, if it has run anything
        self._fed: set[Candidate] = set()  # whose pipeline was timed: once is enough

    def load_data(self) -> DatasetFacts:
        """Start a process and load the data in it, without the framework.

        Raises:
            DataError, ConfigError: the data cannot be had.
            TrialFault: the worker failed.
        """
        return self._tried("open", self._workers.loaded)

    def start(self) -> None:
        """Have a worker ready.

        Raises:
            UserError: the data, the builder or the metric cannot be had.
            TrialFault: the framework does not start.
        """
        self._tried("start", self._workers.ready)

    def probe(
        self,
        candidate: Candidate,
        recipe: Recipe,
        reference: tuple[Candidate, Recipe] | None,
        stage: Stage,
        hopeless_below: float | None = None,
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
            hopeless_below=hopeless_below,
        )
        apart = reference is not None and self._needs_apart(candidate, reference[0])
        probe = self._probe_apart(args) if apart else self._probe_together(args)
        self.recall(candidate, probe)
        return dataclasses.replace(probe, worker=self._workers.number)

    def recall(self, candidate: Candidate, probe: Probe) -> None:
        """Know from a probe, this session's or an earlier one's, what later requests rest on."""
        self._limits.probed(candidate, probe.step_time_ms)
        if probe.pipeline is not None:
            self._fed.add(candidate)

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
        self._hold_to_tf32(args.candidate)
        return self._ask("probe", args, Probe, self._limits.trial_s)

    def _needs_apart(self, candidate: Candidate, reference: Candidate) -> bool:
        """Whether no process may hold both: TF32 is switched for a whole process, and memory may be too small."""
        return candidate.tf32 != reference.tf32 or self._too_large_together(candidate, reference)

    def _hold_to_tf32(self, candidate: Candidate) -> None:
        """A fresh worker where this one has run with another setting of TF32.

        Kernels that were chosen under one setting stay in use under the other (see `framework.allow_tf32`).
        """
        if self._tf32 != [candidate.tf32]:
            if self._tf32:
                self.replace()
            self._tf32 = [candidate.tf32]

    def _too_large_together(self, candidate: Candidate, reference: Candidate) -> bool:
        """Whether one of the same model that is no larger did not fit beside this reference."""
        return any(
            beside == reference
            and (candidate.policy, candidate.widths) == (one.policy, one.widths)
            and candidate.micro_batch >= one.micro_batch
            for one, beside in self._apart
        )

    def train(
        self,
        candidate: Candidate,
        seed: int,
        recipe: Recipe,
        keep_path: Path | None = None,
        stops: tuple[EarlyStop, ...] = (),
    ) -> TrainingRun:
        """See `Executor.train`. A training that gives no sign of life for `search.trial_timeout_s` hangs."""
        args = TrainArgs(candidate, recipe, seed, None if keep_path is None else str(keep_path), stops)
        self._hold_to_tf32(candidate)
        limit_s = self._limits.training_s(candidate, recipe)
        run = self._ask("train", args, TrainingRun, limit_s, self._limits.trial_s)
        return dataclasses.replace(run, worker=self._workers.number)

    def inspect(self, args: InspectArgs) -> ModelAnatomy:
        """Take a model apart on the CPU; see `Inspector.inspect`.

        Raises:
            UserError: a person's mistake that shows only when the model is built.
            TrialFault: it cannot be built or traced in float32, or the worker failed.
        """
        return self._ask("inspect", args, ModelAnatomy, self._limits.after_training_s)

    def harms(self, candidate: Candidate, recipe: Recipe) -> tuple[LayerHarm, ...]:
        """See `Executor.harms`. It is eager, layer by layer, and gives a sign of life after each."""
        self._hold_to_tf32(candidate)
        args = HarmArgs(candidate, recipe, self._config.train.seed)
        return self._ask("harms", args, tuple[LayerHarm, ...], None, self._limits.trial_s)

    def evaluate(self, args: EvaluateArgs) -> Evaluation:
        """Metrics on the test part."""
        return self._ask("evaluate", args, Evaluation, None, self._limits.trial_s)

    def export(self, args: ExportArgs) -> None:
        """Write the SavedModel and the reload check's reference."""
        self._ask("export", args, type(None), self._limits.after_training_s)

    @contextmanager
    def aside(self) -> Iterator[BareWorker]:
        """A fresh process that has neither data nor policy; the study's own worker is ended first, so there is one."""
        self.close()
        with held():
            process = self._spawn()
        try:
            process.ask("start", {}, self._limits.start_s)
            yield BareWorker(process, self._limits.after_training_s)
        finally:
            process.close()

    def replace(self) -> None:
        """End the worker; the next request starts a fresh one."""
        self.close()

    def close(self) -> None:
        """End the worker; nothing is left running."""
        self._workers.close()
        self._tf32 = []

    def _ask(
        self, operation: str, args: Any, kind: type[T], timeout_s: float | None, silence_s: float | None = None
    ) -> T:
        """Ask a worker that is ready; a fresh one once more, where that can help.

        Args:
            operation: what to ask for.
            args: its argument.
            kind: of the value that it returns.
            timeout_s, silence_s: see `WorkerProcess.ask`.
        """

        def attempt() -> T:
            process = self._workers.ready()
            began = time.monotonic()
            value = understood(
                kind, operation, process.ask(operation, {"args": codec.plain(args)}, timeout_s, silence_s)
            )
            self._limits.answered(time.monotonic() - began)
            return value

        value = self._tried(operation, attempt)
        self._workers.replace_if_grown(self._config.search.max_worker_growth_mb)
        return value

    def _tried(self, operation: str, attempt: Callable[[], T]) -> T:
        try:
            return self._once(attempt)
        except TrialFault as first:
            if not worth_another_try(first, self._fruitless):
                raise
            self._on_retry(operation, first)
            try:
                value = self._once(attempt)
            except TrialFault as second:
                self._fruitless += 1
                raise told_twice(second, first) from second
            self._fruitless = 0
            return value

    def _once(self, attempt: Callable[[], T]) -> T:
        """After a fault, of whatever kind, no worker is there: it may hold a broken device, or a part of the memory."""
        try:
            return attempt()
        except BaseException:
            self._workers.kill()
            raise

    def _spawn(self) -> WorkerProcess:
        return WorkerProcess(ENVIRONMENT, self._log_path, self._memory_limit_mb)


ENVIRONMENT = {
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PYTHONUNBUFFERED": "1",
    # Also for what a data source does on the GPU before the framework is started.
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}
"""Variables of every worker; a person's own settings of TensorFlow, XLA and oneDNN are inherited and recorded."""
