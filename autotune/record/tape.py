"""What earlier sessions of a study have recorded, handed out again to the same study code.

The code that runs a study decides by nothing but its configuration and its record. So a later session runs it from the
beginning: what it records is found here until it comes to what was not recorded yet.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autotune.record.events import (
    ASIDES,
    EarlierStudy,
    Event,
    FinalistsCompared,
    HarmMeasured,
    InFlight,
    Inspected,
    InspectionStarted,
    Note,
    Probed,
    SinkFailed,
    StudyDecided,
    StudyResumed,
    StudyStarted,
    Trained,
    TrialFailed,
    TrialStarted,
    WorkerReady,
)
from autotune.record.lines import Line, standing
from autotune.trial import Candidate, EarlyStop, Stage

MEASURED = (Probed, Trained, TrialFailed, FinalistsCompared, HarmMeasured)


@dataclass(frozen=True, slots=True)
class Death:
    """What was being measured when the last session was killed, and how many in a row were killed at it."""

    at: InFlight
    times: int


@dataclass(frozen=True, slots=True)
class Resumed:
    """How a later session goes on.

    Attributes:
        tape: what earlier ones have recorded.
        elapsed_s: how long they took, all together [s].
        changed: what is not as it was and was accepted.
        command: this session's.
    """

    tape: Tape
    elapsed_s: float
    changed: tuple[str, ...]
    command: str

    def event(self) -> StudyResumed:
        """To be written when there is something new; lines that were not handed out by then no longer count."""
        death = self.tape.death
        return StudyResumed(
            resumed_unix_s=time.time(),
            elapsed_s=self.elapsed_s,
            superseded=self.tape.supersede(),
            in_flight=death.at if death else None,
            changed=self.changed,
            command=self.command,
        )


class Tape:
    """The lines of earlier sessions, each handed out once.

    Args:
        lines: the whole record.
        killed: whether the last session did not end by itself; one that ends by a full disk, say, is no death.

    Attributes:
        standing: the lines that count.
        resumptions: how the sessions after the first went on.
        death: what killed the last session.
        inspections: how often taking the model apart was begun, also by sessions whose lines no longer count.
    """

    def __init__(self, lines: Sequence[Line], *, killed: bool = True) -> None:
        self.standing = [line for line in standing(lines) if not isinstance(line.event, StudyResumed)]
        self.resumptions = [line.event for line in lines if isinstance(line.event, StudyResumed)]
        self.death = _death(lines) if killed else None
        self._asides = [line for line in self.standing if _is_aside(line.event)]
        self._waiting = [line for line in self.standing if not _is_aside(line.event)]
        self._void = _unfinished(self.standing)
        self._lost_s = _lost(lines)
        self.inspections = sum(isinstance(line.event, InspectionStarted) for line in lines)

    @property
    def workers(self) -> int:
        """The highest number of a worker that measured."""
        return max((_worker(line.event) for line in self.standing), default=0)

    @property
    def began_without_earlier(self) -> bool:
        """Whether something was measured and no earlier study had been looked for."""
        events = [line.event for line in self.standing]
        return any(isinstance(event, Probed) for event in events) and not any(
            isinstance(event, EarlierStudy) for event in events
        )

    @property
    def inspected(self) -> Inspected | None:
        """What taking the model apart gave, or why it failed; None if that has not been tried."""
        return next((line.event for line in self.standing if isinstance(line.event, Inspected)), None)

    def take(self, event: Event) -> tuple[Line, bool] | None:
        """The recorded line of what happens again, and whether it no longer counts as it is; None if there is none."""
        for line in self._waiting:
            if _same(line.event, event):
                self._waiting.remove(line)
                return line, line.number in self._void
        return None

    def lost_s(self, number: int) -> float:
        """Time until this line that went by between what sessions did last and what the next one did first [s]."""
        return self._lost_s[number]

    def knows(self, event: Event) -> bool:
        """Whether this was noted, beside the study's own code, in an earlier session."""
        return any(line.event == event for line in self.standing)

    def asides_before(self, number: int) -> list[Line]:
        """What was noted on the way to this line and did not come from the study's own code; each once."""
        found = [line for line in self._asides if line.number < number]
        self._asides = self._asides[len(found) :]
        return found

    def supersede(self) -> tuple[int, ...]:
        """Numbers of the lines that were not handed out: from now on they no longer count.

        Those that hold a measurement are still handed out if it is asked for: nothing measured is lost.
        """
        self._void.update(line.number for line in self._waiting)
        return tuple(sorted(self._void))


def _is_aside(event: Event) -> bool:
    """Whether it happened beside the study's code, which will not make it happen again."""
    return isinstance(event, SinkFailed) or (isinstance(event, Note) and event.topic in ASIDES)


def _lost(lines: Sequence[Line]) -> dict[int, float]:
    """Of each line that stands, the sum of the steps in time at the resumptions before it [s]."""
    lost_s, at_s, found = 0.0, 0.0, {}
    for line in standing(lines):
        if isinstance(line.event, StudyResumed):
            lost_s += line.at_s - at_s
        found[line.number], at_s = lost_s, line.at_s
    return found


def _worker(event: Event) -> int:
    match event:
        case WorkerReady():
            return event.worker
        case Probed() | FinalistsCompared():
            return event.probe.worker
        case Trained():
            return event.run.worker
        case _:
            return 0


def _same(recorded: Event, event: Event) -> bool:
    """Whether one is the other again. What was measured, and when, is the recorded one's to say."""
    if type(recorded) is not type(event):
        return False
    match recorded, event:
        case (StudyStarted(), _) | (WorkerReady(), _) | (EarlierStudy(), _):
            return True
        # By the candidate too: where a session proposes otherwise than the one before, numbers stand for others.
        case Probed(), Probed():
            return _probed(recorded) == _probed(event)
        case Trained(), Trained():
            # One that was stopped early does not stand for one that was not.
            return _training(recorded) == _training(event)
        case TrialFailed(), TrialFailed():
            return _failed(recorded) == _failed(event)
        case HarmMeasured(), HarmMeasured():
            return (recorded.trial, recorded.candidate) == (event.trial, event.candidate)
        case FinalistsCompared(), FinalistsCompared():
            return _compared(recorded) == _compared(event)
        case _:
            return recorded == event


def _probed(event: Probed) -> tuple[int, Stage, Candidate]:
    return event.trial, event.stage, event.probe.candidate


def _failed(event: TrialFailed) -> tuple[int, Stage, int | None, Candidate]:
    return event.trial, event.stage, event.seed, event.candidate


def _compared(event: FinalistsCompared) -> tuple[int, int, Candidate]:
    return event.trial, event.other, event.probe.candidate


def _training(event: Trained) -> tuple[int, Stage, Candidate, int, EarlyStop | None]:
    return event.trial, event.stage, event.run.candidate, event.run.seed, event.run.stopped


def _death(lines: Sequence[Line]) -> Death | None:
    """What killed the last session, if it did not end by itself, and the sessions before that died of the same."""
    at = _in_flight(line.event for line in lines)
    if at is None:
        return None
    times, measured = 1, False
    for line in reversed(lines):
        measured = measured or isinstance(line.event, MEASURED)
        if isinstance(line.event, StudyResumed):
            if measured or line.event.in_flight != at:
                break
            times += 1
    return Death(at, times)


def _in_flight(events: Iterable[Event]) -> InFlight | None:
    """What was begun and has no outcome, unless the session ended by itself."""
    at: InFlight | None = None
    for event in events:
        if isinstance(event, TrialStarted):
            at = InFlight(event.trial, event.stage, event.seed)
        elif isinstance(event, (*MEASURED, StudyResumed, StudyDecided)):
            at = None
    return at


def _unfinished(lines: Sequence[Line]) -> set[int]:
    """The start of what has no outcome: it starts again."""
    for line in reversed(lines):
        if isinstance(line.event, MEASURED):
            break
        if isinstance(line.event, TrialStarted):
            return {line.number}
    return set()
