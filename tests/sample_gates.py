"""The sample study with another end of the gate: a training that was stopped early, a verdict that another vouches for.

stopped_events()             trial 3 equals float32 on its first seed and is stopped early on its second: rejected
vouched_events(state, ...)   trial 7 trains identically to `twin`, which vouches for it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autotune.record import events as ev
from autotune.trial import Accuracy, EarlyStop, Stage, TrialState
from tests.sample_study import BASELINE_METRIC, sample_events

STOPPED = 3
VOUCHED = 7


def stopped_events() -> list[ev.Event]:
    """Events up to the end of the verify stage."""
    return list(_stopped())


def _stopped() -> Iterator[ev.Event]:
    for event in _until_confirm():
        if isinstance(event, ev.Trained) and event.trial == STOPPED:
            if event.run.seed == 0:
                yield replace(event, run=replace(event.run, metric=BASELINE_METRIC[0]), delta=0.0)
                continue
            cut = {"metric": None, "curve": event.run.curve[:1], "train_s": 0.4, "stopped": EarlyStop(1, 0.81)}
            yield replace(event, run=replace(event.run, **cut), delta=None)
        elif isinstance(event, ev.TrialJudged) and event.trial == STOPPED:
            yield replace(event, reason="stopped early on seed 1, after epoch 1 of 3: 37.00 pp below", accuracy=None)
        else:
            yield event


def vouched_events(state: TrialState, twin: int, accuracy: Accuracy | None) -> list[ev.Event]:
    """Events up to the end of the verify stage; trial 3 in them is that of `stopped_events`."""
    reason = f"trial {twin} trains identically (steps_per_execution alone differs) and vouches for it"
    judged = ev.TrialJudged(VOUCHED, state, reason, accuracy, vouched_by=twin)
    return [*(event for event in _stopped() if not _judges(event)), judged]


def _judges(event: ev.Event) -> bool:
    return isinstance(event, ev.TrialJudged) and event.trial == VOUCHED


def _until_confirm() -> list[ev.Event]:
    events = sample_events()
    end = next(i for i, e in enumerate(events) if isinstance(e, ev.StageStarted) and e.stage is Stage.CONFIRM)
    return events[:end]
