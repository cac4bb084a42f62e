"""The objective's own quantity, for a trial and for float32 beside it."""

from __future__ import annotations

import statistics

from autotune.decide.energy import joules_per_example
from autotune.record.view import TrialView
from autotune.report import blocks, training
from autotune.report.objective import Goal
from autotune.trial import Probe


def sizes(goal: Goal, trial: TrialView) -> tuple[float, float] | None:
    """The quantity of the trial and of float32 beside it, in the goal's unit; `None` where either is not known."""
    if goal.name == "time_to_accuracy":
        return _times(trial)
    pairs = [pair for probe in blocks.shown(trial).probes if (pair := _sizes(goal, probe)) is not None]
    if not pairs:
        return None
    own, other = zip(*pairs, strict=True)
    return statistics.median(own), statistics.median(other)


def _sizes(goal: Goal, probe: Probe) -> tuple[float, float] | None:
    if goal.name == "energy":
        joules = joules_per_example(probe)
        return (statistics.median(joules[0]), statistics.median(joules[1])) if joules is not None else None
    own, other = probe.peak_memory_mb, probe.baseline_peak_memory_mb
    return (own, other) if own is not None and other is not None else None


def _times(trial: TrialView) -> tuple[float, float] | None:
    found = trial.confirmation.time_to_accuracy if trial.confirmation is not None else None
    if found is None:
        return None
    own, other = training.mean_time_s(found.candidate_s), training.mean_time_s(found.baseline_s)
    return (own, other) if own is not None and other is not None else None
