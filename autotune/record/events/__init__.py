"""What can happen in a study. One event is one line of the record."""

from __future__ import annotations

from autotune.record.events.circumstances import (
    FORMAT,
    EarlierStudy,
    InFlight,
    Inspected,
    InspectionStarted,
    Note,
    SinkFailed,
    StudyResumed,
    StudyStarted,
    WorkerReady,
)
from autotune.record.events.trials import (
    ASIDES,
    BASELINE_TRIAL,
    CHANCE,
    RETRY,
    Exported,
    FidelityPlanned,
    FinalistConfirmed,
    FinalistsCompared,
    HarmMeasured,
    Probed,
    SpacePlanned,
    StageStarted,
    StudyDecided,
    Trained,
    TrialFailed,
    TrialJudged,
    TrialStarted,
)

Event = (
    StudyStarted
    | StudyResumed
    | WorkerReady
    | EarlierStudy
    | Note
    | SpacePlanned
    | FidelityPlanned
    | StageStarted
    | TrialStarted
    | Probed
    | Trained
    | TrialFailed
    | TrialJudged
    | HarmMeasured
    | FinalistsCompared
    | FinalistConfirmed
    | StudyDecided
    | InspectionStarted
    | Inspected
    | Exported
    | SinkFailed
)

__all__ = [
    "ASIDES",
    "BASELINE_TRIAL",
    "CHANCE",
    "FORMAT",
    "RETRY",
    "EarlierStudy",
    "Event",
    "Exported",
    "FidelityPlanned",
    "FinalistConfirmed",
    "FinalistsCompared",
    "HarmMeasured",
    "InFlight",
    "Inspected",
    "InspectionStarted",
    "Note",
    "Probed",
    "SinkFailed",
    "SpacePlanned",
    "StageStarted",
    "StudyDecided",
    "StudyResumed",
    "StudyStarted",
    "Trained",
    "TrialFailed",
    "TrialJudged",
    "TrialStarted",
    "WorkerReady",
]
