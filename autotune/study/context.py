"""What the stages of one study share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import monotonic

from autotune.config.constraint import SHARE_METRICS, Direction
from autotune.config.objective import Objective
from autotune.config.schema import Config
from autotune.decide import health
from autotune.errors import ConfigError, TrialFault
from autotune.hardware.device import Device
from autotune.hardware.profile import Profile
from autotune.record.events import BASELINE_TRIAL, Note, StageStarted, Trained, TrialFailed, TrialStarted
from autotune.record.record import Record
from autotune.record.view import StudyView
from autotune.space.recipe import Fidelity, recipe_for
from autotune.study.budget import Budget
from autotune.study.plan import Plan, evaluations_of
from autotune.trial import (
    Candidate,
    DatasetFacts,
    EarlyStop,
    Failure,
    FailureKind,
    Probe,
    Recipe,
    Stage,
    TrainingRun,
    Xla,
)
from autotune.worker.contract import Executor

# Confirmation seeds are far from the verify stage's, whatever their number.
CONFIRM_SEED_OFFSET = 1000


MODELS = "models"
"""Folder of a run in which trained models are kept until the export."""


def model_name(trial: int, seed: int) -> str:
    """File name of a kept model, in the run's `models` folder."""
    return f"trial{trial}-seed{seed}.keras"


@dataclass
class StudyContext:
    """The study's inputs, and the little that stages hand to one another.

    Attributes:
        clock: for the durations of what is measured [s]; decisions rest on `budget.elapsed_s`.
        baseline_metrics: the baseline's metric by seed, over all stages.
        data: what the worker says of the data.
        worker_start_s: what starting a worker took [s].
        baseline_probe: set by the first step, as is the plan.
    """

    config: Config
    device: Device
    target: Profile
    executor: Executor
    record: Record
    budget: Budget
    clock: Callable[[], float] = monotonic
    baseline_metrics: dict[int, float] = field(default_factory=dict)
    data: DatasetFacts | None = None
    worker_start_s: float = 0.0
    baseline_probe: Probe | None = None
    plan: Plan | None = None

    @property
    def view(self) -> StudyView:
        """The study's state, folded from the record."""
        return self.record.view

    @property
    def baseline(self) -> Candidate:
        """The baseline, as it was measured."""
        assert self.baseline_probe is not None, "the baseline is measured first"
        return self.baseline_probe.candidate

    @property
    def own(self) -> Candidate:
        """The user's settings, with XLA on or off as the baseline ran, where they leave that to Keras."""
        assert self.baseline_probe is not None
        return replace(self.baseline, xla=Xla.ON if self.baseline_probe.effect.xla else Xla.OFF)

    @property
    def higher(self) -> bool:
        """Whether a higher metric is better."""
        return self.config.constraint.direction is Direction.higher

    @property
    def margin(self) -> float:
        """The margin in the metric's own unit; of a relative one, its mean over the baseline's first seeds.

        Before the baseline was trained a relative margin has no size: it is then told as it was given.
        """
        margins = [self.margin_on(seed) for seed in self.first_metrics]
        return sum(margins) / len(margins) if margins else self.config.constraint.margin

    @property
    def first_metrics(self) -> dict[int, float]:
        """The baseline's metric on the seeds that come before the confirmation's, by seed."""
        confirming = self.config.train.seed + CONFIRM_SEED_OFFSET
        return {seed: metric for seed, metric in self.baseline_metrics.items() if seed < confirming}

    def margin_on(self, seed: int) -> float:
        """The margin on one seed that the baseline was trained on, in the metric's own unit."""
        constraint = self.config.constraint
        return constraint.margin * (abs(self.baseline_metrics[seed]) if constraint.relative else 1.0)

    @property
    def times_trainings(self) -> bool:
        """Whether the objective is read from trainings, so that pairs of them have to be neighbours in time."""
        return self.config.objective.name is Objective.time_to_accuracy

    @property
    def resolution(self) -> float:
        """The metric's smallest step; 0 where it has none."""
        assert self.data is not None
        return 1 / self.data.validation if self.config.constraint.metric in SHARE_METRICS else 0.0

    @property
    def guessing_metric(self) -> float | None:
        """The metric of a model that answers any class; None where that is not known."""
        assert self.data is not None
        if self.config.constraint.metric not in SHARE_METRICS or not self.data.num_classes:
            return None
        return 1 / self.data.num_classes if self.higher else 1 - 1 / self.data.num_classes

    @property
    def untrained_metric(self) -> float | None:
        """The best metric of a model that looks at no example: that of always answering the most frequent class.

        Where their shares were not counted it is `guessing_metric`, as it is for a part with as many of each class.
        """
        assert self.data is not None
        guessing, majority = self.guessing_metric, self.data.majority
        if guessing is None or majority is None:
            return guessing
        return majority if self.higher else 1 - majority

    @property
    def busy_s(self) -> float:
        """What the study has taken by its record, without the time between sessions [s]."""
        return self.record.elapsed_s - self.record.lost_s

    @property
    def fidelity(self) -> Fidelity:
        """How long one training is."""
        assert self.plan is not None, "the plan is made from the baseline's probe"
        return self.plan.fidelity

    def recipe(self, candidate: Candidate) -> Recipe:
        """How a candidate is trained in this study."""
        evaluations = evaluations_of(self.config, self.fidelity.epochs)
        return recipe_for(self.config.train, candidate, self.fidelity, evaluations=evaluations)

    def told(self, delta: float) -> str:
        """An accuracy difference for a reader, with its sign and unit."""
        return f"{'-' if delta < 0 else '+'}{self.size(abs(delta))}"

    def size(self, difference: float) -> str:
        """The size of an accuracy difference for a reader, with its unit."""
        return f"{difference * 100:.2f} pp" if self.config.constraint.metric in SHARE_METRICS else f"{difference:.4g}"

    def note(self, topic: str, text: str, level: str = "info") -> None:
        """Record something that a reader of the figures must know."""
        self.record.append(Note(topic, text, level))

    def stage(self, stage: Stage, planned: int) -> None:
        """Record that a stage begins, with the units of work that it may take."""
        self.record.append(StageStarted(stage, planned))

    def oriented(self, metric: float, baseline: float) -> float:
        """Candidate minus baseline, turned so that higher is better."""
        return metric - baseline if self.higher else baseline - metric

    def baseline_runs(self, seeds: Iterable[int]) -> dict[int, TrainingRun]:
        """The baseline's latest trainings on these seeds, over all stages."""
        baseline = self.view.baseline
        assert baseline is not None
        runs = {run.seed: run for group in baseline.runs.values() for run in group}
        return {seed: runs[seed] for seed in seeds if seed in runs}

    def train(
        self,
        trial: int,
        candidate: Candidate,
        seed: int,
        stage: Stage,
        keep: str | None = None,
        stops: tuple[EarlyStop, ...] = (),
    ) -> TrainingRun | None:
        """Train on one seed and record it; None when it failed, which is recorded too.

        Args:
            trial, candidate, seed, stage: what is trained, and for what.
            keep: file name under which the trained model is kept in the run's `models` folder.
            stops: where it ends early, and below what; a run that was stopped has no metric.
        """
        self.record.append(TrialStarted(trial, stage, candidate, seed))
        began = self.clock()
        with self.faults(trial, candidate, stage, seed) as fault:
            keep_path = self.record.path.parent / MODELS / keep if keep else None
            run = self.executor.train(candidate, seed, self.recipe(candidate), keep_path, stops)
            failure = health.training_failure(run, self.config.constraint.max_skipped_share)
            delta = None if failure else self._delta(trial, seed, run.metric)
            # One that failed is recorded with what it measured of itself, such as a loss scale that collapsed.
            self.record.append(Trained(trial, stage, run, delta, self.clock() - began))
            if failure is not None:
                raise TrialFault(failure.kind, failure.message)
        if fault:
            return None
        if trial == BASELINE_TRIAL:
            assert run.metric is not None
            self.baseline_metrics[seed] = run.metric
        return run

    def _delta(self, trial: int, seed: int, metric: float | None) -> float | None:
        if trial == BASELINE_TRIAL or metric is None or seed not in self.baseline_metrics:
            return None
        return self.oriented(metric, self.baseline_metrics[seed])

    @contextmanager
    def faults(
        self, trial: int, candidate: Candidate, stage: Stage, seed: int | None = None
    ) -> Iterator[list[Failure]]:
        """Turn a trial's fault into a recorded failure, which is also put into the list that this yields."""
        seen: list[Failure] = []
        try:
            yield seen
        except TrialFault as fault:
            failure = Failure(FailureKind(fault.kind), fault.message, fault.detail)
        except ConfigError as error:  # a metric or a callback that did its work on the baseline
            if trial == BASELINE_TRIAL:
                raise
            failure = Failure(FailureKind.INVALID, str(error))
        else:
            return
        seen.append(failure)
        self.record.append(TrialFailed(trial, stage, candidate, failure, seed))
