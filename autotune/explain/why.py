"""Why a trial ended as it did and is as fast as it is: one line of measured facts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from autotune.config.constraint import SHARE_METRICS
from autotune.explain.causes import causes
from autotune.printable import printable
from autotune.record.view import StudyView, TrialView
from autotune.trial import Failure, Stage, TimingVerdict, TrialState

LONGEST = 160
"""Characters of a line."""

_LONGEST_MESSAGE = 90


def why(view: StudyView, trial: TrialView) -> str:
    """One plain line of at most `LONGEST` characters; empty where nothing can be said.

    Args:
        view: the study.
        trial: one of its trials.
    """
    if (failure := _failure(trial)) is not None:
        return _fitted([_failed(failure), *_ruled_out(view, trial)])
    reasons = causes(view, trial)
    if trial.is_baseline:
        return _fitted(reasons)
    ended = _ended(view, trial)
    if trial.probe is not None and trial.probe.hopeless_below is not None:
        return _fitted([_given_up(trial), *([ended] if trial.runs else []), *reasons])
    if trial.speedup is None:
        return _fitted([ended]) if ended else ""
    confirmed = trial.confirmation.speedup if trial.confirmation is not None else None
    ratio = f"{(confirmed or trial.speedup).estimate:.2f}x"
    if ended:
        return _fitted([f"{ratio}, {ended}", *reasons])
    return _fitted([f"{ratio}: {reasons[0]}", *reasons[1:]]) if reasons else ""


def _fitted(parts: Iterable[str]) -> str:
    """As many as there is room for, in their order; the first is cut if it has to be."""
    text = ""
    for part in (" ".join(printable(part).split()) for part in parts):
        if not text:
            text = part if len(part) <= LONGEST else part[: LONGEST - 3].rstrip() + "..."
        elif len(text) + 2 + len(part) <= LONGEST:
            text += f"; {part}"
    return text


def _failure(trial: TrialView) -> Failure | None:
    """What kept it from having a result, or from being confirmed."""
    if trial.confirmation is not None and trial.confirmation.failure is not None:
        return trial.confirmation.failure
    return trial.failure if trial.state is TrialState.FAILED else None


def _failed(failure: Failure) -> str:
    message = " ".join(failure.message.split())
    cut = message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE].rstrip() + "..."
    return f"failed ({failure.kind.value}): {cut}"


def _ruled_out(view: StudyView, trial: TrialView) -> Iterable[str]:
    """How many candidates were not tried since this one failed, as the study noted it."""
    failed = [one for one in view.trials.values() if one.state is TrialState.FAILED]
    if sum(one.candidate.short == trial.candidate.short for one in failed) > 1:
        return  # the notes do not tell them apart
    named = re.compile(re.escape(trial.candidate.short) + r"(?= \(|;|$)")
    notes = [note.text for note in view.notes if note.topic == "ruled_out" and named.search(note.text)]
    count = sum(int(found[1]) for text in notes if (found := re.match(r"(\d+) candidate", text)) is not None)
    if count:
        yield f"for it {count} other{'s' if count > 1 else ''} {'were' if count > 1 else 'was'} not tried"
    elif view.decided is not None and view.decided.interrupted is None:  # else screening may have had no end
        yield "nothing else was ruled out for it"


def _given_up(trial: TrialView) -> str:
    assert trial.probe is not None
    pairs = len(trial.probe.block_step_ms)
    return f"given up after {pairs} pairs: clearly below {trial.probe.hopeless_below:.2f}x"


def _ended(view: StudyView, trial: TrialView) -> str:
    """What became of it; empty for the winner, and for one whose speed alone says it."""
    if trial.confirmation is not None:
        return "" if trial.confirmation.succeeded else _not_confirmed(view, trial)
    if trial.state is TrialState.REJECTED:
        return _rejected(view, trial)
    if trial.state is TrialState.DOMINATED:
        return _dominated(view, trial)
    if trial.state is TrialState.SKIPPED:
        return trial.reason
    if trial.state is TrialState.PASSED:
        winner = view.winner
        other = f": trial {winner.number} was confirmed" if winner is not None and not winner.is_baseline else ""
        return f"passed the accuracy gate and was not confirmed itself{other}"
    return ""


def _not_confirmed(view: StudyView, trial: TrialView) -> str:
    confirmation = trial.confirmation
    assert confirmation is not None
    accuracy = confirmation.accuracy
    if accuracy is None:
        return f"not confirmed: {confirmation.verdict.value} in fresh processes"
    seeds = f"{len(accuracy.seeds)} new seeds"
    text = f"{accuracy.verdict.value} in accuracy on {seeds} ({_difference(view, accuracy.delta.estimate)})"
    if confirmation.verdict is not TimingVerdict.FASTER:
        text = f"{confirmation.verdict.value} in fresh processes, {text}"
    return f"not confirmed: {text}"


def _rejected(view: StudyView, trial: TrialView) -> str:
    if trial.vouched_by is not None:
        return f"but trial {trial.vouched_by}, which trains identically, missed the accuracy gate"
    stopped = next((run for run in trial.runs.get(Stage.VERIFY, ()) if run.stopped is not None), None)
    if stopped is not None and stopped.stopped is not None:
        when = f"after epoch {stopped.stopped.epoch} of {stopped.recipe.epochs}"
        return f"but stopped on seed {stopped.seed} {when}: hopelessly behind float32's learning curve"
    deltas = trial.deltas.get(Stage.VERIFY, {})
    if not deltas or sum(deltas.values()) >= 0:
        return f"but {trial.reason}"
    seed, worst = min(deltas.items(), key=lambda entry: entry[1])
    mean = _size(view, -sum(deltas.values()) / len(deltas))
    if len(deltas) == 1:
        return f"but lost {mean} on seed {seed}"
    below = sum(delta < 0 for delta in deltas.values())
    which = f"each of {below}" if below == len(deltas) else f"{below} of {len(deltas)}"
    return f"but lost {mean} on average, on {which} seeds (worst {_difference(view, worst)}, seed {seed})"


def _dominated(view: StudyView, trial: TrialView) -> str:
    """The trial that made training it, or going on with that, needless: one that passed the gate, and is not worse."""
    if trial.runs.get(Stage.VERIFY):
        return trial.reason
    passed = [
        other
        for other in view.trials.values()
        if other.state is TrialState.PASSED and other.gain is not None and trial.gain is not None
    ]
    better = [other for other in passed if _gain(other) > _gain(trial)]
    if not better:
        return f"not trained: {trial.reason}"
    other = view.winner if view.winner in better else max(better, key=_gain)
    assert other is not None
    word = "faster" if other.objective_gain is None else "better"
    return f"not trained: trial {other.number} is {word} ({_gain(other):.2f}x) and passed the accuracy gate"


def _gain(trial: TrialView) -> float:
    assert trial.gain is not None
    return trial.gain.estimate


def _metric(view: StudyView) -> str:
    return str(view.started.config.get("constraint", {}).get("metric", "accuracy")) if view.started else "accuracy"


def _size(view: StudyView, size: float) -> str:
    """A loss without its sign, in percentage points where the metric is a share."""
    return f"{size * 100:.2f} pp" if _metric(view) in SHARE_METRICS else f"{size:.3g} of {_metric(view)}"


def _difference(view: StudyView, delta: float) -> str:
    return f"{delta * 100:+.2f} pp" if _metric(view) in SHARE_METRICS else f"{delta:+.3g}"
