"""The values that travel between rooms: what is asked, what was measured, what was concluded.

Everything here is plain, frozen and free of any framework, so that it crosses the pipe to the worker, lands in the
record and comes back unchanged. Times are in the unit that the name says.
"""

from __future__ import annotations

from autotune.trial.candidate import Candidate, LeftOut, Policy, Predicted, SpaceSummary, Xla
from autotune.trial.judged import Accuracy, AccuracyVerdict, Confirmation, Interval, TimingVerdict
from autotune.trial.measured import (
    DatasetFacts,
    Effect,
    EpochPoint,
    LayerEffect,
    Probe,
    Recipe,
    TrainingRun,
    WorkerFacts,
)
from autotune.trial.outcome import Failure, FailureKind, Stage, TrialState

__all__ = [
    "Accuracy",
    "AccuracyVerdict",
    "Candidate",
    "Confirmation",
    "DatasetFacts",
    "Effect",
    "EpochPoint",
    "Failure",
    "FailureKind",
    "Interval",
    "LayerEffect",
    "LeftOut",
    "Policy",
    "Predicted",
    "Probe",
    "Recipe",
    "SpaceSummary",
    "Stage",
    "TimingVerdict",
    "TrainingRun",
    "TrialState",
    "WorkerFacts",
    "Xla",
]
