"""What can happen in a study apart from its trials: how it began and went on, and what its reader must know.

Format history (`FORMAT`):
    1  first version.
    2  what the machine did during each block, pipeline timing, objective and gain, comparison of finalists, loss scale
       by epoch.
    3  `at_s` on every line; a study can go on in a later session. Later, and readable alike: `InspectionStarted`,
       `Inspected`, `StudyStarted.sweep`, `HarmMeasured` and `Policy.float32_layers`, which older records have not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autotune.sweep import Sweep
from autotune.trial import Candidate, DatasetFacts, Stage, WorkerFacts
from autotune.trial.anatomy import ModelAnatomy

FORMAT = 3


@dataclass(frozen=True, slots=True)
class StudyStarted:
    """The first line: what was asked, and on what.

    Attributes:
        study: unique name of the study.
        config: the whole resolved configuration, as plain values.
        target: the profile asked for, as plain values.
        device: what is really there, as plain values (its fingerprint).
        on_target: whether the device is the target.
        target_note: why it is or is not.
        output_dir: absolute folder of this run.
        versions: package name to version, of the parent.
        code: digests of what may change between two sessions: this package, and the model's builder.
        sweep: the multirun that it is a job of.
    """

    format: int
    study: str
    started_unix_s: float
    config: dict[str, Any]
    target: dict[str, Any]
    device: dict[str, Any]
    on_target: bool
    target_note: str
    output_dir: str
    command: str
    versions: dict[str, str]
    code: dict[str, str] = field(default_factory=dict)
    sweep: Sweep | None = None


@dataclass(frozen=True, slots=True)
class EarlierStudy:
    """What an earlier study of the same model on the same device says about where to begin: an order, and no more.

    Once it is recorded, nothing but this line decides: whatever becomes of the earlier study, a later session goes on
    alike.

    Attributes:
        study: its name; None if there is none.
        candidates: the best of it, the best first.
    """

    study: str | None
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class InFlight:
    """What was being measured when a session was killed; `seed` is of a training."""

    trial: int
    stage: Stage
    seed: int | None


@dataclass(frozen=True, slots=True)
class StudyResumed:
    """A later session goes on from where the lines before it lead.

    Attributes:
        elapsed_s: what the sessions before it took, all together [s].
        superseded: lines of this file, counted from 1, that no longer count: they ended a study that now goes on.
        in_flight: what was being measured when the session before was killed; None if it ended by itself.
        changed: what is not as it was and was accepted, one line each.
    """

    resumed_unix_s: float
    elapsed_s: float
    superseded: tuple[int, ...]
    in_flight: InFlight | None
    changed: tuple[str, ...]
    command: str


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """A worker process has loaded the data and imported the framework; `start_s` is what both took [s]."""

    worker: int
    facts: WorkerFacts
    data: DatasetFacts
    start_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a reader of any figure must know: a stand-in, an absent target, a truncation.

    Attributes:
        topic: a short key, such as `stand_in`, `off_target`, `budget`, `noise`.
        level: `warning` or `info`.
    """

    topic: str
    text: str
    level: str = "info"


@dataclass(frozen=True, slots=True)
class InspectionStarted:
    """The model is about to be taken apart; without an `Inspected` after it the session ended meanwhile.

    Attributes:
        attempt: counted from 1, over all sessions.
    """

    attempt: int


@dataclass(frozen=True, slots=True)
class Inspected:
    """The model was taken apart once all trials were over; exactly one of the two is set.

    Attributes:
        anatomy: facts of its layers and its training step at the user's own settings, in float32 and in 16 bit.
        failure: why there is none.
    """

    anatomy: ModelAnatomy | None
    failure: str | None


@dataclass(frozen=True, slots=True)
class SinkFailed:
    """A sink could not take an event; measurements are safe here and it is not asked again."""

    sink: str
    message: str
