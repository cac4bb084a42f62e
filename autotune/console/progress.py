"""What is running, how far it is and how long it will take, folded from events and a clock."""

from __future__ import annotations

from autotune.config.checks import duration_s
from autotune.record.events import (
    BASELINE_TRIAL,
    Event,
    Exported,
    FinalistConfirmed,
    Probed,
    StageStarted,
    StudyResumed,
    StudyStarted,
    Trained,
    TrialFailed,
)
from autotune.record.view import StudyView
from autotune.trial import Stage

ORDER = tuple(Stage)

# What counts as one unit of the number that `StageStarted.planned` announces.
_UNITS: dict[Stage, tuple[type, ...]] = {
    Stage.BASELINE: (Trained, TrialFailed),
    Stage.SCREEN: (Probed, TrialFailed),
    Stage.VERIFY: (Trained, TrialFailed),
    Stage.CONFIRM: (FinalistConfirmed,),
    Stage.EXPORT: (Exported,),
}


class Progress:
    """How far a study is. Times are of one monotonic clock [s], given by the caller."""

    def __init__(self) -> None:
        self.started_s: float | None = None
        self.stage_started_s: float | None = None
        self.done = 0

    def on_event(self, event: Event, stage: Stage | None, now_s: float) -> None:
        """Take one event; `stage` is the one in progress."""
        if isinstance(event, StudyStarted):
            self.started_s = now_s
        elif isinstance(event, StudyResumed):
            self.started_s = now_s - event.elapsed_s
        elif isinstance(event, StageStarted):
            self.stage_started_s, self.done = now_s, 0
        elif stage is not None and _counts(event, stage):
            self.done += 1

    def elapsed_s(self, now_s: float) -> float:
        """Since the study started [s]."""
        return 0.0 if self.started_s is None else now_s - self.started_s

    def stage_elapsed_s(self, now_s: float) -> float:
        """Since the stage started [s]."""
        return 0.0 if self.stage_started_s is None else now_s - self.stage_started_s

    def left_s(self, view: StudyView, now_s: float) -> float | None:
        """An estimate of the time left [s], never more than the budget has; `None` without plan and budget.

        Later stages take their share of the plan. This one takes the share of its work that is left, but no more
        than the share's own time that is left.
        """
        budget_s = budget_of(view)
        over = None if budget_s is None else max(0.0, budget_s - self.elapsed_s(now_s))
        shares = view.fidelity.shares_s if view.fidelity is not None else {}
        if view.stage is None or not shares:
            return over
        stage, planned = view.stage.stage, view.stage.planned
        later = sum(shares.get(other.value, 0.0) for other in ORDER[ORDER.index(stage) + 1 :])
        share_s = shares.get(stage.value, 0.0)
        by_work = share_s * (1 - min(1.0, self.done / planned)) if planned > 0 else share_s
        here = max(0.0, min(by_work, share_s - self.stage_elapsed_s(now_s)))
        return later + here if over is None else min(over, later + here)


def _counts(event: Event, stage: Stage) -> bool:
    """Whether the event ends one unit of the stage's work; beyond its own stage the baseline is only a reference."""
    reference = stage is not Stage.BASELINE and getattr(event, "trial", None) == BASELINE_TRIAL
    return isinstance(event, _UNITS[stage]) and (not reference or isinstance(event, Exported))


def budget_of(view: StudyView) -> float | None:
    """`search.budget` [s], or `None` for no limit."""
    if view.started is None:
        return None
    written = view.started.config.get("search", {}).get("budget")
    return None if written is None else duration_s("search.budget", written)
