"""Curves and outcomes of a trial's trainings, as metrics with a step: the epoch or the seed. Pure.

A curve is `by_epoch/<quantity>/seed_<seed>`: MLflow's charts have a section for each quantity, and a chart for each
seed, in which trials meet that had the same initial weights and the same order of data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from autotune.record.view import TrialView
from autotune.report.training import health
from autotune.tracking import names
from autotune.trial import TrainingRun

Point = tuple[str, float, int]
"""Name, value, step."""


def trial_points(trial: TrialView, metric: str) -> list[Point]:
    """Every training's curve by epoch and its outcome by seed; what is not finite is left out.

    Args:
        trial: in whatever state.
        metric: the constraint's.
    """
    found: list[Point] = []
    for stage, runs in trial.runs.items():
        deltas = trial.deltas.get(stage, {})
        for run in runs:
            found += _training(run, deltas.get(run.seed), names.name(metric))
    return [point for point in found if math.isfinite(point[1])]


def _training(run: TrainingRun, delta: float | None, metric: str) -> Iterator[Point]:
    yield from _curve(run, metric)
    if run.metric is not None:
        yield f"by_seed/val_{metric}", run.metric, run.seed
    if delta is not None:
        yield "by_seed/accuracy_delta", delta, run.seed
    yield from _health(run)


def _curve(run: TrainingRun, metric: str) -> Iterator[Point]:
    for point in run.curve:
        if point.metric is not None:
            yield f"by_epoch/val_{metric}/seed_{run.seed}", point.metric, point.epoch
        if point.train_loss is not None:
            yield f"by_epoch/train_loss/seed_{run.seed}", point.train_loss, point.epoch
        if point.loss_scale is not None:
            yield f"by_epoch/loss_scale/seed_{run.seed}", point.loss_scale, point.epoch
            yield f"by_epoch/skipped_steps/seed_{run.seed}", point.skipped_steps, point.epoch


def _health(run: TrainingRun) -> Iterator[Point]:
    """Of one training; loss scaling has its figures only where there is any."""
    found = health([run])
    assert found is not None
    yield "by_seed/non_finite", found.non_finite, run.seed
    yield "by_seed/share_16bit", run.effect.share_16bit, run.seed
    if found.loss_scale is not None and found.loss_scale_lowest is not None:
        yield "by_seed/loss_scale", found.loss_scale, run.seed
        yield "by_seed/loss_scale_lowest", found.loss_scale_lowest, run.seed
        yield "by_seed/skipped_steps_share", found.skipped_share, run.seed
