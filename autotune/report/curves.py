"""Learning curves: metric and training loss over epochs and time, of the finalists and of float32 beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autotune.record.view import StudyView, TrialView
from autotune.report import figures, training
from autotune.report.measure import Measure
from autotune.trial import EpochPoint, Stage, TrainingRun, TrialState

MOST = 6
"""Trials beside the baseline; more lines than that cannot be told apart."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A value after an epoch, and the training time until then, evaluation apart [s]."""

    epoch: int
    elapsed_s: float
    value: float


@dataclass(frozen=True, slots=True)
class Lines:
    """One quantity over a training.

    Attributes:
        runs: by seed.
        mean: over the seeds, at epochs that all of them have it for.
    """

    runs: dict[int, tuple[CurvePoint, ...]]
    mean: tuple[CurvePoint, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """The trainings of one trial in one stage.

    Attributes:
        metric: on the validation part, in its own unit, after the epochs that were evaluated.
        loss: of the training itself, a mean over each epoch.
        confirmed: whether these are trainings of the confirmation.
        stopped: seeds that were stopped early.
    """

    trial: int
    name: str
    stage: Stage
    metric: Lines
    loss: Lines
    confirmed: bool
    stopped: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """The baseline first, then the winner, other finalists, and what else was trained, at most `MOST` of them."""

    measure: Measure
    series: tuple[Series, ...]
    left_out: int

    @property
    def baseline(self) -> Series:
        """Float32's own."""
        return self.series[0]


def curves(view: StudyView) -> Curves | None:
    """The learning curves of a study; None before its baseline was trained."""
    baseline = view.baseline
    if baseline is None or not training.all_runs(baseline):
        return None
    trained = sorted(filter(_is_trained, view.trials.values()), key=lambda trial: _rank(view, trial))
    shown = [_series(view, trial) for trial in trained]
    found = [one for one in shown if one is not None]
    # The mean is over the seeds of the finalists: those of the gate are others.
    beside = [one for one in found[:MOST] if one.confirmed] or found[:MOST]
    own = _baseline(baseline, {seed for one in beside for seed in one.metric.runs})
    if own is None:
        return None
    return Curves(Measure.of(view), (own, *found[:MOST]), max(0, len(found) - MOST))


def _is_trained(trial: TrialView) -> bool:
    return not trial.is_baseline and bool(training.all_runs(trial))


def _rank(view: StudyView, trial: TrialView) -> tuple[bool, bool, bool, float]:
    gain = figures.gain(view, trial)
    return (
        not figures.is_winner(view, trial),
        Stage.CONFIRM not in trial.runs,
        trial.state is not TrialState.PASSED,
        -(gain.estimate if gain is not None else 0.0),
    )


def _series(view: StudyView, trial: TrialView) -> Series | None:
    stage = Stage.CONFIRM if trial.runs.get(Stage.CONFIRM) else Stage.VERIFY
    kind = "winner" if figures.is_winner(view, trial) else "finalist" if stage is Stage.CONFIRM else "verified"
    candidate = trial.candidate
    name = f"trial {trial.number}, {kind}: {candidate.policy}, batch {candidate.batch_size}"
    return _of(trial.number, name, stage, trial.runs.get(stage, []))


def _baseline(trial: TrialView, seeds: set[int]) -> Series | None:
    """On the seeds that are shown beside it; on all of its own where there is nothing beside it."""
    runs = training.all_runs(trial)
    same = [run for run in runs if run.seed in seeds] or runs
    stage = Stage.CONFIRM if any(run in same for run in trial.runs.get(Stage.CONFIRM, [])) else Stage.BASELINE
    return _of(trial.number, "float32 baseline", stage, same)


def _of(trial: int, name: str, stage: Stage, runs: Sequence[TrainingRun]) -> Series | None:
    metric = _lines({run.seed: _points(run, lambda point: point.metric) for run in runs})
    if not metric.runs:
        return None
    loss = _lines({run.seed: _points(run, lambda point: point.train_loss) for run in runs})
    stopped = tuple(run.seed for run in runs if run.stopped is not None)
    return Series(trial, name, stage, metric, loss, stage is Stage.CONFIRM, stopped)


def _lines(runs: dict[int, tuple[CurvePoint, ...]]) -> Lines:
    found = {seed: points for seed, points in runs.items() if points}
    return Lines(found, _mean(list(found.values())))


def _points(run: TrainingRun, value: Callable[[EpochPoint], float | None]) -> tuple[CurvePoint, ...]:
    found = ((point, value(point)) for point in run.curve)
    return tuple(CurvePoint(point.epoch, point.elapsed_s, known) for point, known in found if known is not None)


def _mean(lines: list[tuple[CurvePoint, ...]]) -> tuple[CurvePoint, ...]:
    """At the epochs that every line has: a mean over the seeds that got further would flatter."""
    if not lines:
        return ()
    by_epoch = [{point.epoch: point for point in line} for line in lines]
    shared = sorted(set.intersection(*(set(line) for line in by_epoch)))
    return tuple(
        CurvePoint(
            epoch,
            sum(line[epoch].elapsed_s for line in by_epoch) / len(by_epoch),
            sum(line[epoch].value for line in by_epoch) / len(by_epoch),
        )
        for epoch in shared
    )
