"""What was concluded from measurements, with its interval."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from autotune.trial.candidate import Candidate
from autotune.trial.outcome import Failure
from autotune.trial.trained import Recipe


class AccuracyVerdict(enum.StrEnum):
    """Whether a candidate is not less accurate than float32, within the margin."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"


class TimingVerdict(enum.StrEnum):
    """How a candidate's throughput compares with the baseline's."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    UNCLEAR = "UNCLEAR"


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with a two-sided confidence interval.

    Attributes:
        estimate: the point estimate, in the unit of what was measured.
        low: lower bound.
        high: upper bound.
        level: two-sided confidence, 0.95 for 95 %.
        n: how many samples or pairs it rests on.
        method: how it was computed, for a reader.
    """

    estimate: float
    low: float
    high: float
    level: float
    n: int
    method: str

    @property
    def relative_half_width(self) -> float:
        """Half the interval's width over the estimate; infinite for an estimate of zero."""
        return (self.high - self.low) / (2 * abs(self.estimate)) if self.estimate else float("inf")


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Something that disturbed one pair of blocks, which counts as all others do.

    Attributes:
        pair: its index, counted from 0.
        reason: what was seen, for a reader.
    """

    pair: int
    reason: str


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A judged accuracy difference against the baseline, candidate minus baseline, oriented so that higher is better.

    Attributes:
        verdict: PASS, FAIL or INCONCLUSIVE.
        delta: mean paired difference with its interval, in the metric's own unit.
        deltas: one paired difference a seed, in the order of `seeds`.
        seeds: the seeds.
        margin: how far the metric may fall, absolute; of a relative margin, its mean over the seeds.
        level: the one-sided level of this look.
        seeds_needed: seeds that would decide it if the spread stays as it is; `None` when decided or not estimable.
        relative_margin: the margin as a share of float32's metric, where it was given so.
        sampling_error: standard error of the mean difference that comes from the validation part being a sample, which
            the interval does not hold [metric's unit]; `None` where it is not known.
    """

    verdict: AccuracyVerdict
    delta: Interval
    deltas: tuple[float, ...]
    seeds: tuple[int, ...]
    margin: float
    level: float
    seeds_needed: int | None = None
    relative_margin: float | None = None
    sampling_error: float | None = None


@dataclass(frozen=True, slots=True)
class TimeToAccuracy:
    """Training time until the metric first reaches float32's final one on the same seed, less the margin.

    Attributes:
        seeds: the seeds, in the order of the two tuples.
        baseline_s: of the baseline on each seed [s]; `None` where it was not reached.
        candidate_s: of the candidate on each seed [s]; `None` where it was not reached.
        ratio: baseline's time over the candidate's, so that above 1 is better; `None` where a seed did not reach it or
            there are too few.
    """

    seeds: tuple[int, ...]
    baseline_s: tuple[float | None, ...]
    candidate_s: tuple[float | None, ...]
    ratio: Interval | None


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a finalist showed on new seeds and in fresh processes: the only figures that are quoted.

    Attributes:
        timing: verdict on throughput.
        speedup: throughput over the baseline's, over all processes.
        per_process: point estimate of each fresh process.
        accuracy: the accuracy verdict on new seeds; `None` if no training finished.
        baseline_metric: mean metric of the baseline on the same seeds.
        metric: mean metric of the candidate on the same seeds.
        step_time_ms: median step time [ms].
        baseline_step_time_ms: median step time of the baseline in the same processes [ms].
        objective: what was made as large as possible.
        gain: the objective, baseline against candidate, so that above 1 is better; equals `speedup` for throughput.
        verdict: on the gain.
        time_to_accuracy: from the trainings on the same seeds; `None` if there were none.
        epoch_s: mean wall clock of one training epoch, evaluation apart [s].
        baseline_epoch_s: of the baseline on the same seeds [s].
    """

    trial: int
    candidate: Candidate
    timing: TimingVerdict
    speedup: Interval | None
    per_process: tuple[float, ...]
    accuracy: Accuracy | None
    baseline_metric: float | None
    metric: float | None
    step_time_ms: float | None
    baseline_step_time_ms: float | None
    recipe: Recipe | None
    failure: Failure | None = None
    objective: str = "throughput"
    gain: Interval | None = None
    verdict: TimingVerdict = TimingVerdict.UNCLEAR
    time_to_accuracy: TimeToAccuracy | None = None
    epoch_s: float | None = None
    baseline_epoch_s: float | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it is both better by the objective and not less accurate."""
        return (
            self.verdict is TimingVerdict.FASTER
            and self.accuracy is not None
            and self.accuracy.verdict is AccuracyVerdict.PASS
        )
