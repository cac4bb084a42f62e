"""What happens to trials, from the plan to the export."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.trial import (
    Accuracy,
    Candidate,
    Confirmation,
    Failure,
    Interval,
    LayerHarm,
    Predicted,
    Probe,
    Recipe,
    SpaceSummary,
    Stage,
    Suspicion,
    TimingVerdict,
    TrainingRun,
    TrialState,
)

BASELINE_TRIAL = 0
"""The number of the baseline's own trial; candidates count from 1."""

RETRY = "retry"
"""Topic of the note that something was measured at a second attempt."""

ASIDES = (RETRY, "device", "data", "tf32")
"""Topics of notes of what happened beside the study's own code, and is not the same in each session."""

CHANCE = "chance"
"""Topic of the note that float32 itself has learned nothing, as far as its metric shows."""


@dataclass(frozen=True, slots=True)
class SpacePlanned:
    """What will be searched and what was left out.

    Attributes:
        predicted: what the target's peaks let expect, of this space and of the policies that the target itself offers.
        prediction_note: its assumptions, or why there is none.
    """

    space: SpaceSummary
    baseline: Candidate
    predicted: tuple[Predicted, ...]
    prediction_note: str


@dataclass(frozen=True, slots=True)
class FidelityPlanned:
    """How long one training is, and how the budget is meant to be spent.

    Attributes:
        recipe: of the baseline.
        baseline_train_s: predicted duration of one baseline training [s].
        shares_s: part of the budget per stage [s].
        reasons: one line each, for a reader.
        resolvable_margin: smallest margin that the seeds can resolve, by assumed or measured paired spread.
    """

    recipe: Recipe
    baseline_train_s: float
    shares_s: dict[str, float]
    reasons: tuple[str, ...]
    resolvable_margin: dict[str, float]


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage begins; `planned` is how many units of work it may take (trials, trainings or finalists)."""

    stage: Stage
    planned: int


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A trial is about to be measured or trained (shown live; carries no result)."""

    trial: int
    stage: Stage
    candidate: Candidate
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Probed:
    """A candidate's throughput was measured; `speedup` is against its neighbour in time (None for the baseline).

    Attributes:
        timing: verdict on the speedup.
        gain: the objective's, above 1 is better; None for the baseline, and where the objective is throughput.
        suspicious: pairs during which something disturbed; they count as all others do.
    """

    trial: int
    stage: Stage
    probe: Probe
    speedup: Interval | None
    timing: TimingVerdict | None
    duration_s: float
    gain: Interval | None = None
    suspicious: tuple[Suspicion, ...] = ()


@dataclass(frozen=True, slots=True)
class Trained:
    """One training on one seed ended; `delta` is against the baseline on the same seed, higher is better.

    One that was stopped early (`run.stopped`) has neither metric nor delta.
    """

    trial: int
    stage: Stage
    run: TrainingRun
    delta: float | None
    duration_s: float


@dataclass(frozen=True, slots=True)
class TrialFailed:
    """A trial has no result; the study goes on."""

    trial: int
    stage: Stage
    candidate: Candidate
    failure: Failure
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class TrialJudged:
    """A trial's state after a stage, and why.

    Attributes:
        accuracy: what the gate of the verify stage saw.
        gain: the objective's, where that is read from trainings.
        vouched_by: the trial that trains identically and whose gate this verdict follows; `None` where it was trained
            itself, or not at all.
    """

    trial: int
    state: TrialState
    reason: str
    accuracy: Accuracy | None = None
    gain: Interval | None = None
    vouched_by: int | None = None


@dataclass(frozen=True, slots=True)
class HarmMeasured:
    """How much each layer of a candidate harms in 16 bit; exactly one of `layers` and `failure` says something.

    Attributes:
        trial: whose policy and widths it was measured with, on one real batch and freshly initialised weights.
        layers: in the model's order; without those that compute in float32 whatever the policy.
        failure: why it could not be measured.
    """

    trial: int
    candidate: Candidate
    layers: tuple[LayerHarm, ...]
    failure: Failure | None
    duration_s: float


@dataclass(frozen=True, slots=True)
class FinalistsCompared:
    """Two finalists that screening could not tell apart, timed against one another in one process.

    Attributes:
        speedup: throughput of `trial` over that of `other`.
        preferred: the trial that goes first through what follows.
        reason: why, in a few words.
    """

    trial: int
    other: int
    probe: Probe
    speedup: Interval
    verdict: TimingVerdict
    preferred: int
    reason: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class FinalistConfirmed:
    """A finalist's figures on new seeds and in fresh processes."""

    confirmation: Confirmation


@dataclass(frozen=True, slots=True)
class StudyDecided:
    """What to use.

    Attributes:
        winner: the confirmed trial, or `BASELINE_TRIAL` when none was both FASTER and PASS.
        reason: one line, for a reader.
        interrupted: why the study ended early (`budget`, `interrupt`), or None.
    """

    winner: int
    reason: str
    interrupted: str | None
    duration_s: float


@dataclass(frozen=True, slots=True)
class Exported:
    """The winner's files; metrics on the test part, which is touched here for the first time.

    Attributes:
        folder: absolute folder of the export.
        files: name to absolute path.
        test_metric: of the exported model on the test part; None if it is not finite.
        baseline_test_metric: of the baseline trained on the same seed; None when the baseline is what was exported.
        reload_difference: largest difference between what the trained model and the reloaded ones predict, relative to
            max(1, largest absolute output); each was reloaded in a fresh process under another global policy.
        alias: registry alias that the export is entitled to: `production` or `candidate`.
        alias_reason: why.
        registered: the registry's entry, such as `cifar_mlp version 3`; None when nothing was registered.
    """

    trial: int
    folder: str
    files: dict[str, str]
    test_metric: float | None
    baseline_test_metric: float | None
    test_delta: Interval | None
    reload_difference: dict[str, float]
    alias: str
    alias_reason: str
    registered: str | None = None

    @property
    def alias_told(self) -> str:
        """The alias as a person reads it, which no model has where none was registered; and why."""
        if self.registered is None:
            return f"none, since no model was registered; entitled to {self.alias}: {self.alias_reason}"
        return f"{self.alias}: {self.alias_reason}"
