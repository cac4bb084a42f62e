"""The front of throughput against the metric, for `objective=pareto`: what each further speed costs in accuracy.

A point is on it if no other one, by its estimates, is both as fast and as accurate. Estimates of a few seeds decide
that closely, so it is told too which of the others are clearly beaten and which the seeds do not tell from the front.
"""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config.constraint import SHARE_METRICS
from autotune.decide.dominance import Measured, beats
from autotune.record.view import StudyView, TrialView
from autotune.report import figures, phrases
from autotune.report.measure import Measure
from autotune.report.objective import Goal
from autotune.report.pareto import pareto_front
from autotune.trial import Accuracy, Interval, Stage, TrialState

_LEFT = (TrialState.SKIPPED, TrialState.SCREENED)


@dataclass(frozen=True, slots=True)
class Front:
    """The front of a study, and what is known of the rest.

    Attributes:
        points: candidates on the front, the slowest first; float32 itself is no candidate.
        holds_baseline: whether float32 itself is on it.
        beaten: that others clearly beat, or were stopped since they fell too far behind.
        unclear: that are not on it, and that nothing clearly beats.
        untrained: that were not trained although they may be on it.
    """

    points: tuple[TrialView, ...]
    holds_baseline: bool
    beaten: tuple[int, ...]
    unclear: tuple[int, ...]
    untrained: tuple[int, ...]


def front_of(view: StudyView) -> Front | None:
    """The front; None where none was looked for, or nothing was trained but float32."""
    if not Goal.of(view).is_front:
        return None
    trials = [trial for _, trial in sorted(view.trials.items()) if not trial.is_baseline]
    known = [(trial, *figure) for trial in trials if (figure := _figures(trial)) is not None]
    if not known:
        return None
    places = [(1.0, 0.0), *((speedup.estimate, accuracy.delta.estimate) for _, speedup, accuracy in known)]
    on = pareto_front(places)
    points = tuple(known[index - 1][0] for index in on if index)
    stopped = [trial.number for trial in trials if trial.state is TrialState.DOMINATED]
    beaten = [trial.number for trial, *_ in known if trial not in points and _is_beaten(view, trial, trials)]
    settled = {*stopped, *beaten, *(point.number for point in points)}
    return Front(
        points=points,
        holds_baseline=0 in on,
        beaten=tuple(sorted({*stopped, *beaten})),
        unclear=tuple(trial.number for trial, *_ in known if trial.number not in settled),
        untrained=tuple(trial.number for trial in trials if trial.state in _LEFT and trial.accuracy is None),
    )


def rows(view: StudyView) -> list[tuple[str, str]]:
    """What the answer says of it: the whole, then each point."""
    front = front_of(view)
    if front is None:
        return []
    return [("front", _told(front)), *((f"front, trial {point.number}", _point(view, point)) for point in front.points)]


def _figures(trial: TrialView) -> tuple[Interval, Accuracy] | None:
    """Speedup and paired difference, each of the latest stage that has it; None where it was not trained to the end."""
    accuracy = _accuracy(trial)
    speedup = _speedup(trial)
    if speedup is None or accuracy is None:
        return None
    judged = trial.state in (TrialState.PASSED, TrialState.REJECTED, TrialState.SKIPPED)
    return (speedup, accuracy) if judged or accuracy is not trial.accuracy else None


def _speedup(trial: TrialView) -> Interval | None:
    """As fresh processes showed it, which refutes the screening, else the screening's."""
    return (trial.confirmation.speedup if trial.confirmation is not None else None) or trial.speedup


def _accuracy(trial: TrialView) -> Accuracy | None:
    return (trial.confirmation.accuracy if trial.confirmation is not None else None) or trial.accuracy


def _is_beaten(view: StudyView, trial: TrialView, trials: list[TrialView]) -> bool:
    own = _measured(trial)
    if own is None or trial.accuracy is None:
        return False
    others = [found for one in trials if one is not trial and (found := _measured(one)) is not None]
    return any(beats(other, own, trial.accuracy.margin, _resolution(view)) for other in others)


def _measured(trial: TrialView) -> Measured | None:
    """Speed as last measured, and the gate's seeds, which are alike for all."""
    speedup = _speedup(trial)
    if speedup is None or trial.accuracy is None:
        return None
    return Measured(speedup, dict(zip(trial.accuracy.seeds, trial.accuracy.deltas, strict=True)))


def _resolution(view: StudyView) -> float:
    """The metric's smallest step; 0 where it has none."""
    known = view.worker is not None and Measure.of(view).name in SHARE_METRICS
    return 1 / view.worker.data.validation if known and view.worker is not None else 0.0


def _told(front: Front) -> str:
    count = len(front.points)
    text = f"{count} candidate{'' if count == 1 else 's'}" + (" and float32 itself" if front.holds_baseline else "")
    text += " that nothing measured beats in both speed and accuracy, by their estimates"
    others = (
        ("clearly beaten", front.beaten),
        ("not told from the front by these seeds", front.unclear),
        ("not trained, so that they may be on it", front.untrained),
    )
    return text + "".join(f"; {what}: {_trials(numbers)}" for what, numbers in others if numbers)


def _trials(numbers: tuple[int, ...]) -> str:
    return f"trial{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def _point(view: StudyView, trial: TrialView) -> str:
    found, measure = _figures(trial), Measure.of(view)
    assert found is not None
    speedup, accuracy = found
    stage = Stage.CONFIRM if speedup is not trial.speedup else Stage.SCREEN
    seeds = f"{len(accuracy.seeds)}{' new' if accuracy is not trial.accuracy else ''} paired seeds"
    if (twin := figures.vouched_by(trial)) is not None:
        seeds += f" of trial {twin}, which trains identically"
    text = f"{phrases.speedup(speedup)} ({stage.value}, {phrases.level(speedup)}), {measure.name}"
    text += f" {measure.delta_interval(accuracy.delta)}{measure.orientation} ({phrases.level(accuracy.delta)}, {seeds})"
    changed = phrases.differences(trial.candidate, view.baseline.candidate) if view.baseline is not None else []
    return f"{text}: {', '.join(changed) or trial.candidate}"
