"""The state of a study, folded from its events: what every sink, the report and the export read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from autotune.record.events import (
    BASELINE_TRIAL,
    EarlierStudy,
    Event,
    Exported,
    FidelityPlanned,
    FinalistConfirmed,
    FinalistsCompared,
    Inspected,
    Note,
    Probed,
    SpacePlanned,
    StageStarted,
    StudyDecided,
    StudyResumed,
    StudyStarted,
    Trained,
    TrialFailed,
    TrialJudged,
    TrialStarted,
    WorkerReady,
)
from autotune.trial import (
    Accuracy,
    Candidate,
    Confirmation,
    Failure,
    Interval,
    Probe,
    Stage,
    Suspicion,
    TimingVerdict,
    TrainingRun,
    TrialState,
)


@dataclass
class TrialView:
    """One trial, as far as it is known.

    Attributes:
        deltas: paired accuracy differences by stage, then seed; higher is better.
        objective_gain: the objective's where that is not throughput.
        suspicious: screening pairs during which something disturbed.
        confirming: what was timed in the confirm stage, one a fresh process.
        vouched_by: the trial that trains identically and went through the gate in its place.
    """

    number: int
    candidate: Candidate
    state: TrialState | None = None
    reason: str = ""
    probe: Probe | None = None
    speedup: Interval | None = None
    timing: TimingVerdict | None = None
    objective_gain: Interval | None = None
    suspicious: tuple[Suspicion, ...] = ()
    confirming: list[Probed] = field(default_factory=list)
    runs: dict[Stage, list[TrainingRun]] = field(default_factory=dict)
    deltas: dict[Stage, dict[int, float]] = field(default_factory=dict)
    accuracy: Accuracy | None = None
    failure: Failure | None = None
    confirmation: Confirmation | None = None
    vouched_by: int | None = None

    @property
    def is_baseline(self) -> bool:
        """Whether this is the baseline's own trial."""
        return self.number == BASELINE_TRIAL

    @property
    def gain(self) -> Interval | None:
        """What candidates are ranked by: the objective's gain, which is the speedup where that is throughput."""
        return self.objective_gain or self.speedup

    def metric(self, stage: Stage) -> float | None:
        """Mean metric over the stage's trainings that did not fail, or None; None if one was stopped early.

        A mean over the seeds that came to their end would flatter: the one that was stopped was the worst.
        """
        if self._stopped_in(stage):
            return None
        paired = self.deltas.get(stage, {})
        runs = [run for run in self.runs.get(stage, ()) if self.is_baseline or run.seed in paired]
        values = [run.metric for run in runs if run.metric is not None]
        return sum(values) / len(values) if values else None

    def delta(self, stage: Stage) -> float | None:
        """Mean paired difference over the stage's seeds, or None; None, as the metric, if one was stopped early."""
        deltas = self.deltas.get(stage)
        return sum(deltas.values()) / len(deltas) if deltas and not self._stopped_in(stage) else None

    def _stopped_in(self, stage: Stage) -> bool:
        return any(run.stopped is not None for run in self.runs.get(stage, ()))

    @property
    def latest_metric(self) -> float | None:
        """Mean metric of the last stage that has one."""
        for stage in (Stage.CONFIRM, Stage.VERIFY, Stage.BASELINE):
            if (metric := self.metric(stage)) is not None:
                return metric
        return None

    @property
    def latest_delta(self) -> float | None:
        """Mean paired difference of the last stage that has one."""
        for stage in (Stage.CONFIRM, Stage.VERIFY):
            if (delta := self.delta(stage)) is not None:
                return delta
        return None


@dataclass
class StudyView:
    """A study, folded from its events with `apply`.

    Attributes:
        resumptions: one for each later session that recorded anything.
        predicted_ms: of the space's predictions, step times by candidate: asked for at each event of each trial.
    """

    started: StudyStarted | None = None
    resumptions: list[StudyResumed] = field(default_factory=list)
    worker: WorkerReady | None = None
    earlier: EarlierStudy | None = None
    space: SpacePlanned | None = None
    predicted_ms: dict[Candidate, float] = field(default_factory=dict)
    fidelity: FidelityPlanned | None = None
    stage: StageStarted | None = None
    current: TrialStarted | None = None
    trials: dict[int, TrialView] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    comparisons: list[FinalistsCompared] = field(default_factory=list)
    confirmations: list[Confirmation] = field(default_factory=list)
    decided: StudyDecided | None = None
    inspected: Inspected | None = None
    exported: Exported | None = None

    @property
    def baseline(self) -> TrialView | None:
        """The baseline's trial, once it has begun."""
        return self.trials.get(BASELINE_TRIAL)

    @property
    def winner(self) -> TrialView | None:
        """The trial that was decided upon, or None before that."""
        return self.trials.get(self.decided.winner) if self.decided else None

    @property
    def changed(self) -> tuple[str, ...]:
        """What was not as in the first session and was accepted, of all later ones; each once."""
        return tuple(dict.fromkeys(change for resumed in self.resumptions for change in resumed.changed))

    @classmethod
    def of(cls, events: Iterable[Event]) -> StudyView:
        """The state after these events."""
        view = cls()
        for event in events:
            view.apply(event)
        return view

    def apply(self, event: Event) -> None:
        """Take one event into the state."""
        match event:
            case StudyStarted():
                self.started = event
            case StudyResumed():
                self.resumptions.append(event)
            case WorkerReady():
                self.worker = self.worker or event
            case EarlierStudy():
                self.earlier = event
            case SpacePlanned():
                self.space = event
                self.predicted_ms = {one.candidate: one.step_time_ms for one in event.predicted}
            case FidelityPlanned():
                self.fidelity = event
            case Note():
                self.notes.append(event)
            case StageStarted():
                self.stage = event
            case _:
                self._apply_to_trial(event)

    def _trial(self, number: int, candidate: Candidate) -> TrialView:
        return self.trials.setdefault(number, TrialView(number, candidate))

    def _apply_to_trial(self, event: Event) -> None:
        match event:
            case TrialStarted():
                self.current = event
                self._trial(event.trial, event.candidate)
            case Probed() if event.stage is not Stage.CONFIRM:
                trial = self._trial(event.trial, event.probe.candidate)
                trial.probe, trial.speedup, trial.timing = event.probe, event.speedup, event.timing
                trial.objective_gain, trial.suspicious = event.gain, event.suspicious
                trial.state = trial.state or TrialState.SCREENED
            case Probed():
                self._trial(event.trial, event.probe.candidate).confirming.append(event)
            case Trained():
                trial = self._trial(event.trial, event.run.candidate)
                trial.runs.setdefault(event.stage, []).append(event.run)
                if event.delta is not None:
                    trial.deltas.setdefault(event.stage, {})[event.run.seed] = event.delta
            case TrialFailed():
                trial = self._trial(event.trial, event.candidate)
                trial.failure = event.failure
                if event.stage in (Stage.SCREEN, Stage.VERIFY, Stage.BASELINE):
                    trial.state, trial.reason = TrialState.FAILED, str(event.failure)
            case TrialJudged():
                trial = self.trials[event.trial]
                trial.state, trial.reason = event.state, event.reason
                trial.accuracy = event.accuracy or trial.accuracy
                trial.vouched_by = event.vouched_by
                trial.objective_gain = event.gain or trial.objective_gain
            case _:
                self._apply_to_answer(event)

    def _apply_to_answer(self, event: Event) -> None:
        """Finalists, and what follows from them."""
        match event:
            case FinalistsCompared():
                self.comparisons.append(event)
            case FinalistConfirmed():
                self.confirmations.append(event.confirmation)
                self._trial(event.confirmation.trial, event.confirmation.candidate).confirmation = event.confirmation
            case StudyDecided():
                self.decided = event
            case Inspected():
                self.inspected = event
            case Exported():
                self.exported = event
            case _:
                pass
