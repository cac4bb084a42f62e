"""What a trial's trainings showed beside the metric: their health in 16 bit, and how long learning took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.decide import learning
from autotune.record.view import StudyView, TrialView
from autotune.report import phrases
from autotune.report.measure import Measure
from autotune.trial import Confirmation, Interval, Stage, TimeToAccuracy, TrainingRun


@dataclass(frozen=True, slots=True)
class Health:
    """Health of some trainings of one candidate.

    Attributes:
        trainings: how many.
        loss_scale: the lowest of those at their ends; `None` without loss scaling.
        loss_scale_lowest: the lowest at the end of any epoch; `None` without loss scaling.
        skipped_steps: steps that the loss scaler skipped.
        skipped_share: of all steps that were attempted, 0 to 1.
        non_finite: trainings whose loss or metric was not finite.
        stopped_early: trainings that ended early, hopelessly behind float32's learning curve.
    """

    trainings: int
    loss_scale: float | None
    loss_scale_lowest: float | None
    skipped_steps: int
    skipped_share: float
    non_finite: int
    stopped_early: int = 0


def health(runs: Sequence[TrainingRun]) -> Health | None:
    """Over these trainings; `None` where there was none."""
    if not runs:
        return None
    ends = [run.loss_scale for run in runs if run.loss_scale is not None]
    passed = [point.loss_scale for run in runs for point in run.curve if point.loss_scale is not None]
    skipped = sum(run.skipped_steps for run in runs)
    return Health(
        trainings=len(runs),
        loss_scale=min(ends, default=None),
        loss_scale_lowest=min(ends + passed, default=None),
        skipped_steps=skipped,
        skipped_share=skipped / max(1, sum(run.asked_steps for run in runs)),
        non_finite=sum(not run.loss_finite or run.metric_is_lost for run in runs),
        stopped_early=sum(run.stopped is not None for run in runs),
    )


def all_runs(trial: TrialView) -> list[TrainingRun]:
    """Its trainings over all stages."""
    return [run for runs in trial.runs.values() for run in runs]


def epoch_s(trial: TrialView) -> float | None:
    """Mean wall clock of one training epoch, evaluation apart [s], over all stages; `None` where it was not trained."""
    times = [time_s for run in all_runs(trial) if (time_s := learning.epoch_seconds(run)) is not None]
    return sum(times) / len(times) if times else None


def time_to_accuracy(view: StudyView, trial: TrialView) -> TimeToAccuracy | None:
    """As confirmed, else from the verify stage; `None` where none was trained there, or one training was stopped early.

    What a seed that was stopped would have come to is not known, and a figure of the others would flatter.
    """
    if trial.confirmation is not None and trial.confirmation.time_to_accuracy is not None:
        return trial.confirmation.time_to_accuracy
    measure, baseline = Measure.of(view), view.baseline
    runs = {run.seed: run for run in trial.runs.get(Stage.VERIFY, ())}
    if baseline is None or trial.is_baseline or any(run.stopped is not None for run in runs.values()):
        return None
    reference = {run.seed: run for run in all_runs(baseline) if run.seed in runs}
    margins = {seed: margin for seed, run in reference.items() if (margin := _margin(measure, run)) is not None}
    own = {seed: run for seed, run in runs.items() if seed in margins}
    return learning.time_to_accuracy(reference, own, margins, higher=measure.higher_is_better) if own else None


def _margin(measure: Measure, baseline: TrainingRun) -> float | None:
    if measure.relative_margin is None:
        return measure.margin
    return measure.relative_margin * abs(baseline.metric) if baseline.metric is not None else None


def mean_time_s(times_s: Sequence[float | None]) -> float | None:
    """Mean over seeds [s]; `None` unless every seed got there, as a mean over the others would flatter."""
    known = [time_s for time_s in times_s if time_s is not None]
    return sum(known) / len(known) if known and len(known) == len(times_s) else None


def not_reached(found: TimeToAccuracy) -> int:
    """Seeds on which the candidate did not reach float32's metric less the margin."""
    return sum(time_s is None for time_s in found.candidate_s)


def end_to_end(measure: Measure, confirmation: Confirmation) -> str | None:
    """`an epoch takes 0.54 s instead of 1.31 s; float32's accuracy less the margin after 1.63 s instead of 3.93 s`."""
    parts = []
    if confirmation.epoch_s is not None and confirmation.baseline_epoch_s is not None:
        own, base = map(phrases.three_digits, (confirmation.epoch_s, confirmation.baseline_epoch_s))
        parts.append(f"an epoch takes {own} s instead of {base} s")
    if confirmation.time_to_accuracy is not None:
        parts.append(_reached(measure, confirmation.time_to_accuracy, confirmation.speedup))
    return "; ".join(parts) or None


def _reached(measure: Measure, found: TimeToAccuracy, speedup: Interval | None) -> str:
    goal = f"float32's {measure.name} {'less' if measure.higher_is_better else 'plus'} the margin"
    if missed := not_reached(found):
        return f"{goal} was not reached on {missed} of {len(found.seeds)} seeds"
    own, base = mean_time_s(found.candidate_s), mean_time_s(found.baseline_s)
    text = f"{goal} after {phrases.three_digits(own)} s instead of {phrases.three_digits(base)} s"
    if found.ratio is not None:
        text += f", {phrases.speedup(found.ratio)}"
        if speedup is not None and speedup.low > 1 and found.ratio.high < 1:
            # Time to the goal has compilation in it, which a short training does not earn back.
            text += ": it steps faster but gets there later, since it learns slower or compiles for longer"
    return text
