"""The values that travel between rooms: what is asked, what was measured, what was concluded.

Everything here is plain, frozen and free of any framework, so that it crosses the pipe to the worker, lands in the
record and comes back unchanged. Times are in the unit that the name says.
"""

from __future__ import annotations

from autotune.trial.candidate import Candidate, LeftOut, Pipeline, Policy, Predicted, SpaceSummary, Xla
from autotune.trial.effect import Effect, LayerEffect, Products
from autotune.trial.facts import DatasetFacts, WorkerFacts
from autotune.trial.harm import LayerHarm
from autotune.trial.judged import (
    Accuracy,
    AccuracyVerdict,
    Confirmation,
    Interval,
    Suspicion,
    TimeToAccuracy,
    TimingVerdict,
)
from autotune.trial.outcome import Failure, FailureKind, Stage, TrialState
from autotune.trial.timed import BlockConditions, PipelineTiming, Probe
from autotune.trial.trained import EarlyStop, EpochPoint, Recipe, TrainingRun

__all__ = [
    "Accuracy",
    "AccuracyVerdict",
    "BlockConditions",
    "Candidate",
    "Confirmation",
    "DatasetFacts",
    "EarlyStop",
    "Effect",
    "EpochPoint",
    "Failure",
    "FailureKind",
    "Interval",
    "LayerEffect",
    "LayerHarm",
    "LeftOut",
    "Pipeline",
    "PipelineTiming",
    "Policy",
    "Predicted",
    "Probe",
    "Products",
    "Recipe",
    "SpaceSummary",
    "Stage",
    "Suspicion",
    "TimeToAccuracy",
    "TimingVerdict",
    "TrainingRun",
    "TrialState",
    "WorkerFacts",
    "Xla",
]
