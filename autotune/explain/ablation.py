"""Which change gained how much: the winner's speedup along measured trials that differ in as little as possible.

Figures are of screening: each trial was timed beside the baseline, and two trials are compared through it. A step from
one trial to the next is the quotient of their speedups, so the steps multiply to the whole. A path leads over trials
whose every setting lies between the baseline's and the winner's; of all such paths the one is taken that changes most
settings one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

from autotune.explain.settings import Settings, changed, settings_of
from autotune.record.events import BASELINE_TRIAL
from autotune.record.view import StudyView, TrialView
from autotune.trial import Interval, TrialState


@dataclass(frozen=True, slots=True)
class Factor:
    """One step of the path from the baseline: throughput of one measured trial over another's.

    Attributes:
        change: the settings that differ, such as `batch 32 -> 128`; several where no measured trial lies between.
        trial: the one that has the change.
        against: the one that has it not.
        ratio: throughput of `trial` over that of `against`, from screening.
        low, high: its interval, at the level of the speedups'; None where it cannot be had.
        settings: the names alone, such as `batch`.
    """

    change: str
    trial: int
    against: int
    ratio: float
    low: float | None
    high: float | None
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decomposition:
    """What a speedup is made of, from screening; the product of the steps times `rest` is `whole`.

    Attributes:
        steps: from the baseline to the trial.
        whole: the trial's speedup over the baseline, from the same stage.
        rest: what the steps do not account for: 1 but for rounding, as each is the quotient of two speedups.
        missing: changes whose own effect no pair of measured trials shows, and why.
    """

    steps: tuple[Factor, ...]
    whole: Interval | None
    rest: float | None
    missing: tuple[str, ...]


def decompose(view: StudyView) -> Decomposition | None:
    """Of the winner, or of the fastest trial where none was confirmed; None where no trial was timed to the end."""
    baseline = view.baseline
    if baseline is None or baseline.probe is None:
        return None
    timed = timed_trials(view)
    winner = view.winner if view.winner is not None and not view.winner.is_baseline else None
    whole = winner or max(timed, key=_speed, default=None)
    if whole is None or whole.speedup is None or not is_timed(whole):
        return None
    if not _names(baseline, whole):
        return None
    path = _best_path(baseline, whole, timed)
    steps = tuple(factor(later, earlier) for earlier, later in _merged(path))
    product = math.prod(step.ratio for step in steps)
    return Decomposition(steps, whole.speedup, whole.speedup.estimate / product, tuple(_missing(view, steps, timed)))


def timed_trials(view: StudyView) -> list[TrialView]:
    """Candidates that were timed to the end."""
    return [trial for trial in view.trials.values() if is_timed(trial)]


def is_timed(trial: TrialView) -> bool:
    """Whether a candidate's screening may be quoted: it did not fail, and was not given up before its usual end."""
    return (
        trial.probe is not None
        and trial.speedup is not None
        and trial.probe.hopeless_below is None
        and trial.state is not TrialState.FAILED
        and not trial.is_baseline
    )


def factor(trial: TrialView, against: TrialView) -> Factor:
    """Throughput of one timed trial over another's, or over the baseline's.

    Both speedups were measured against the baseline beside them, independently of one another: on the log scale the
    bounds' distances add as squares. What makes two processes differ is in none of the two intervals.
    """
    names = changed(settings_of(against), settings_of(trial))
    own, other = _interval(trial), None if against.is_baseline else _interval(against)
    if other is None:
        ratio, low, high = own.estimate, own.low, own.high
    else:
        ratio = own.estimate / other.estimate
        low = ratio * math.exp(-math.hypot(_down(own), _up(other)))
        high = ratio * math.exp(math.hypot(_up(own), _down(other)))
    told = ", ".join(_told(name, settings_of(against), settings_of(trial)) for name in names)
    return Factor(told, trial.number, against.number, ratio, low, high, names)


def _interval(trial: TrialView) -> Interval:
    assert trial.speedup is not None
    return trial.speedup


def _speed(trial: TrialView) -> float:
    return _interval(trial).estimate


def _down(interval: Interval) -> float:
    return math.log(interval.estimate / interval.low)


def _up(interval: Interval) -> float:
    return math.log(interval.high / interval.estimate)


def _told(name: str, old: Settings, new: Settings) -> str:
    return f"{name} {old.text(name)} -> {new.text(name)}"


_Known = tuple[TrialView, Settings]
"""A trial with its settings."""


@dataclass(frozen=True, slots=True)
class _Path:
    """Trials from the baseline on, and which settings some step has changed alone."""

    trials: tuple[TrialView, ...]
    together: int
    alone: frozenset[str]
    width: float

    @property
    def cost(self) -> tuple[int, int, int, float]:
        """Fewest settings changed together, most changed alone, fewest steps, most exact trials."""
        return self.together, -len(self.alone), len(self.trials), self.width

    def on(self, trial: TrialView, names: tuple[str, ...]) -> _Path:
        alone = self.alone | frozenset(names) if len(names) == 1 else self.alone
        width = self.width + _interval(trial).relative_half_width
        return _Path((*self.trials, trial), self.together + len(names) - 1, alone, width)


def _best_path(baseline: TrialView, end: TrialView, timed: Iterable[TrialView]) -> tuple[TrialView, ...]:
    """First over trials whose every setting is the baseline's or the end's; over all that lie between if need be."""
    first, last = settings_of(baseline), settings_of(end)
    known = [(trial, settings_of(trial)) for trial in timed if trial is not end]
    between = [(trial, here) for trial, here in known if here.lies_between(first, last)]
    between.sort(key=lambda one: one[1].progress(first, last))
    corners = [(trial, here) for trial, here in between if here.is_mixed_of(first, last)]
    found = _search(baseline, (end, last), corners)
    return (found if not found.together else _search(baseline, (end, last), between)).trials


def _search(baseline: TrialView, end: _Known, between: list[_Known]) -> _Path:
    """In order of progress, so that a trial's best paths are known before what comes after it."""
    first = settings_of(baseline)
    paths = [(first, {frozenset[str](): _Path((baseline,), 0, frozenset(), 0.0)})]
    for trial, here in (*between, end):
        found: dict[frozenset[str], _Path] = {}
        for before, leading in paths:
            names = changed(before, here)
            if not names or not before.lies_between(first, here):
                continue
            for path in leading.values():
                longer = path.on(trial, names)
                if longer.alone not in found or longer.cost < found[longer.alone].cost:
                    found[longer.alone] = longer
        paths.append((here, found))
    return min(paths[-1][1].values(), key=lambda path: path.cost)


def _merged(path: tuple[TrialView, ...]) -> Iterator[tuple[TrialView, TrialView]]:
    """The steps; neighbouring ones that change the same setting alone, such as a batch doubled twice, as one."""
    kept = [path[0]]
    for trial, following in pairwise(path[1:]):
        into, onward = _names(kept[-1], trial), _names(trial, following)
        if len(into) > 1 or into != onward:
            kept.append(trial)
    yield from pairwise((*kept, path[-1]))


def _names(one: TrialView, other: TrialView) -> tuple[str, ...]:
    return changed(settings_of(one), settings_of(other))


def _missing(view: StudyView, steps: tuple[Factor, ...], timed: list[TrialView]) -> Iterator[str]:
    """Of each step that changes several settings at once, those that no other pair of trials differs in alone."""
    baseline = view.trials[BASELINE_TRIAL]
    given_up = [trial for trial in view.trials.values() if trial.probe is not None and trial.probe.hopeless_below]
    for name in dict.fromkeys(name for step in steps if len(step.settings) > 1 for name in step.settings):
        if _differ_in(name, [baseline, *timed]):
            continue
        told = f"{name}: no two trials that were timed to the end differ in it alone"
        if (pair := _differ_in(name, [baseline, *timed, *given_up])) is not None:
            told += f"; trials {pair[0]} and {pair[1]} do, of which one was given up early as clearly slower"
        yield told


def _differ_in(name: str, trials: list[TrialView]) -> tuple[int, int] | None:
    known = [(trial.number, settings_of(trial)) for trial in trials]
    for (number, one), (later, other) in combinations(known, 2):
        if changed(one, other) == (name,):
            return number, later
    return None
