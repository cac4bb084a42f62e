"""What the plot of speed (or another objective) against accuracy shows, free of any plotting library.

Across: the objective's gain, a ratio to the baseline's of which more is better. Up: the metric, as the baseline's mean
plus the mean *paired* difference. Trials were trained on different seeds, so their raw means do not compare with one
line at baseline less margin; paired differences do.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from autotune.record.view import StudyView, TrialView
from autotune.report import blocks, figures, phrases, training
from autotune.report.answer import warnings
from autotune.report.measure import Measure
from autotune.report.objective import Goal
from autotune.report.pareto import pareto_front
from autotune.trial import Interval, Stage, TrialState


class Kind(enum.StrEnum):
    """What a point is; its symbol and its place in the legend."""

    BASELINE = "float32 baseline"
    WINNER = "winner, confirmed"
    FINALIST = "finalist, not chosen"
    PASSED = "passed the gate"
    REJECTED = "rejected on accuracy"
    DOMINATED = "dominated"
    SLOWER = "not faster"
    UNJUDGED = "not judged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Point:
    """One trial in the plot.

    Attributes:
        gain: the objective's ratio to the baseline's, with the bounds beside it where there are any.
        metric: baseline's mean plus the mean paired difference, in the metric's unit; `None` when it was never trained
            to the end on all of its seeds.
        judged: whether on new seeds; a finalist that failed, or was not faster in fresh processes, was not.
        speed_from: the stage that timed it.
        stopped_early: whether one of its trainings was.
        details: one line each, for whoever points at it.
    """

    trial: int
    kind: Kind
    gain: float
    gain_low: float | None
    gain_high: float | None
    metric: float | None
    metric_low: float | None
    metric_high: float | None
    judged: bool
    speed_from: Stage | None
    stopped_early: bool
    details: tuple[str, ...]

    @property
    def legend(self) -> str:
        """Its name in the legend, with the reason where it has no accuracy."""
        if self.metric is not None:
            return str(self.kind)
        return f"{self.kind} ({'stopped early' if self.stopped_early else 'not trained'})"


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """The whole plot.

    Attributes:
        trained: points that have an accuracy.
        untrained: points that have a gain only; they are never given an accuracy.
        unplotted: one line for each trial that has no gain.
        front: gain and metric of the Pareto front over the trained points, by rising gain.
        limit: the metric at baseline less margin.
        caption: one line each: device, recipe, what is confirmed and what is not, warnings first.
    """

    title: str
    goal: Goal
    measure: Measure
    trained: tuple[Point, ...]
    untrained: tuple[Point, ...]
    unplotted: tuple[str, ...]
    front: tuple[tuple[float, float], ...]
    baseline: float
    limit: float | None
    caption: tuple[str, ...]

    @property
    def axis_text(self) -> str:
        """What the axis across is."""
        if self.goal.is_throughput:
            return "speedup over the float32 baseline [x]"
        return f"{self.goal.quantity}: float32's over the trial's [x], more is better"

    @property
    def limit_text(self) -> str:
        """What the line at `limit` is."""
        away = "less" if self.measure.higher_is_better else "plus"
        return f"constraint: baseline {away} {self.measure.allowance()}"

    @property
    def metric_range(self) -> tuple[float, float]:
        """Where the metric's axis begins and ends.

        Bars of what was not judged on new seeds may run past it: an interval over the gate's two seeds would flatten
        everything else.
        """
        shown = [self.baseline] + ([self.limit] if self.limit is not None else [])
        for point in self.trained:
            ends = (point.metric, point.metric_low, point.metric_high) if point.judged else (point.metric,)
            shown += [end for end in ends if end is not None]
        room = 0.08 * (max(shown) - min(shown)) or abs(self.baseline) * 0.05 or 1.0
        return min(shown) - room, max(shown) + room


_KINDS = {
    TrialState.PASSED: Kind.PASSED,
    TrialState.REJECTED: Kind.REJECTED,
    TrialState.DOMINATED: Kind.DOMINATED,
    TrialState.SLOWER: Kind.SLOWER,
    TrialState.FAILED: Kind.FAILED,
}


def tradeoff(view: StudyView) -> Tradeoff | None:
    """The plot of a study, or `None` before its baseline was both timed and trained."""
    baseline, measure, goal = view.baseline, Measure.of(view), Goal.of(view)
    reference = baseline.metric(Stage.BASELINE) if baseline is not None else None
    if baseline is None or baseline.probe is None or reference is None:
        return None
    points = [_point(view, measure, trial, reference) for _, trial in sorted(view.trials.items())]
    shown = [point for point in points if point is not None]
    trained = tuple(point for point in shown if point.metric is not None)
    limit = measure.shifted(reference, -measure.margin) if measure.margin is not None else None
    return Tradeoff(
        title=f"{phrases.model_name(view)}: {goal.label} against {measure.name}",
        goal=goal,
        measure=measure,
        trained=trained,
        untrained=tuple(point for point in shown if point.metric is None),
        unplotted=tuple(_unplotted(view, t) for _, t in sorted(view.trials.items()) if _gain(view, t) is None),
        front=_front(measure, trained),
        baseline=reference,
        limit=limit,
        caption=_caption(view, baseline),
    )


def _gain(view: StudyView, trial: TrialView) -> float | None:
    if trial.is_baseline:
        return 1.0 if trial.probe is not None else None
    interval = figures.gain(view, trial)
    return interval.estimate if interval is not None else None


def _point(view: StudyView, measure: Measure, trial: TrialView, reference: float) -> Point | None:
    gain, interval = _gain(view, trial), figures.gain(view, trial)
    if gain is None:
        return None
    delta = 0.0 if trial.is_baseline else figures.delta(trial)
    metric = measure.shifted(reference, delta) if delta is not None else None
    low, high = _bounds(measure, reference, figures.delta_interval(trial))
    return Point(
        trial=trial.number,
        kind=_kind(view, trial),
        gain=gain,
        gain_low=interval.low if interval else None,
        gain_high=interval.high if interval else None,
        metric=metric,
        metric_low=low if metric is not None else None,
        metric_high=high if metric is not None else None,
        judged=figures.judged_on_new_seeds(trial),
        speed_from=figures.speed_stage(trial),
        stopped_early=_stopped_early(trial),
        details=_details(view, trial),
    )


def _stopped_early(trial: TrialView) -> bool:
    health = training.health(training.all_runs(trial))
    return health is not None and health.stopped_early > 0


def _bounds(measure: Measure, reference: float, interval: Interval | None) -> tuple[float | None, float | None]:
    if interval is None:
        return None, None
    ends = sorted(measure.shifted(reference, end) for end in (interval.low, interval.high))
    return ends[0], ends[1]


def _kind(view: StudyView, trial: TrialView) -> Kind:
    if trial.is_baseline:
        return Kind.BASELINE
    if figures.is_winner(view, trial):
        return Kind.WINNER
    if trial.confirmation is not None:
        return Kind.FAILED if trial.confirmation.failure is not None else Kind.FINALIST
    return _KINDS.get(trial.state, Kind.UNJUDGED) if trial.state is not None else Kind.UNJUDGED


def _details(view: StudyView, trial: TrialView) -> tuple[str, ...]:
    candidate = trial.candidate
    return (
        f"trial {trial.number}: {figures.policy(trial)}, batch {candidate.batch_size}, XLA {figures.xla(trial)}",
        f"widths {phrases.widths(candidate) or 'none'}, steps per execution {candidate.steps_per_execution}",
        *filter(None, [phrases.further(candidate)]),
        *_timed(view, trial),
        *_trained(view, trial),
        phrases.one_line(figures.verdict(view, trial)),
    )


def _timed(view: StudyView, trial: TrialView) -> Iterator[str]:
    """Speed and what stands behind it, under the name of the stage that measured it."""
    rate, ratio, gain = figures.examples_per_s(trial), figures.speedup(trial), figures.gain(view, trial)
    stage, goal, timed = figures.speed_stage(trial), Goal.of(view), blocks.shown(trial)
    if rate is None or stage is None:
        return
    if gain is not None and not goal.is_throughput:
        yield f"{stage.value}: {goal.label}, gain {phrases.speedup(gain)} ({phrases.level(gain)})"
    yield f"{stage.value}: {rate:,.0f} examples/s, {phrases.three_digits(figures.step_time_ms(trial))} ms/step"
    if ratio is not None:
        yield f"{stage.value}: speedup {phrases.speedup(ratio)} ({phrases.level(ratio)}, {timed.pairs} pairs)"
    if timed.suspicious:
        yield f"{stage.value}: {len(timed.suspicious)} of {timed.pairs} pairs disturbed, all of them counted"
    first, compiling = map(phrases.three_digits, (timed.first_step_s, timed.compile_s))
    yield f"first step {first} s, of which compiling {compiling} s"


def _trained(view: StudyView, trial: TrialView) -> Iterator[str]:
    measure, interval, delta = Measure.of(view), figures.delta_interval(trial), figures.delta(trial)
    if delta is not None:
        difference = measure.delta_interval(interval) if interval is not None else measure.delta(delta)
        difference += measure.orientation
        if (twin := figures.vouched_by(trial)) is not None:
            yield f"{measure.name}: paired difference {difference}, by trial {twin}"
        else:
            yield f"{measure.name} {measure.value(trial.latest_metric)}, paired difference {difference}"
    elif trial.is_baseline:
        yield f"{measure.name} {measure.value(trial.metric(Stage.BASELINE))}"
    else:
        yield f"{'stopped early' if _stopped_early(trial) else 'not trained'}: no accuracy"
    if trial.confirmation is not None and (learned := training.end_to_end(measure, trial.confirmation)) is not None:
        yield learned


def _front(measure: Measure, trained: tuple[Point, ...]) -> tuple[tuple[float, float], ...]:
    places = [(point.gain, point.metric) for point in trained if point.metric is not None]
    sign = 1.0 if measure.higher_is_better else -1.0
    return tuple(places[i] for i in pareto_front([(gain, sign * metric) for gain, metric in places]))


def _unplotted(view: StudyView, trial: TrialView) -> str:
    why = phrases.one_line(figures.verdict(view, trial)) or "not measured"
    return f"trial {trial.number} ({trial.candidate}): {why}"


def _caption(view: StudyView, baseline: TrialView) -> tuple[str, ...]:
    runs = baseline.runs.get(Stage.BASELINE, [])
    lines = [f"WARNING: {text}" for text in warnings(view)]
    device = phrases.place(view.started.device) if view.started is not None else "an unknown device"
    recipe = phrases.at_recipe(runs[0].recipe) if runs else ""
    plus = f"the baseline's mean over {len(runs)} seeds plus the paired difference"
    lines.append(f"Measured on {device} {recipe}. {phrases.one_line(Measure.of(view).name)}: {plus}.")
    lines.append(
        "Filled: timed in fresh processes and judged on new seeds, confirmed or not. Hollow: few seeds, and the speed"
        " of the screening unless fresh processes timed it."
        " Bars: intervals; disturbed pairs count in them as all others do."
    )
    return tuple(lines)
