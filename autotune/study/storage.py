"""The study as Optuna's own persistent storage, for its dashboard and its API. Written when trials are final.

Optuna's study is a view: the record decides the winner. A trial's constraint can be set only once and a trial without
one counts as feasible, so each trial is added once, when it is final, and carries its constraint: at most zero only if
it went through the accuracy gate, itself or by a trial that trains identically, and was not refused by the confirmation
(or is the baseline).

With `objective=pareto` the study has two values, speedup and mean paired difference of the metric (higher is better),
and no constraint, so that its `best_trials` are the front; what has no accuracy is not complete.

optuna-dashboard (0.21) reads constraints as Optuna 4 kept them, as a list: without it, every trial would look feasible
there. Optuna 5 reads both. The dashboard draws numbers along an axis and all else as categories in their given order.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection

from autotune.config.objective import Objective
from autotune.decide.accuracy import GATE
from autotune.record.view import StudyView, TrialView
from autotune.study.parameters import FURTHER, params
from autotune.trial import AccuracyVerdict, TrialState

FILE_NAME = "optuna.journal"

# What an unverified candidate is told as: infeasible, since nothing is known of its accuracy.
_UNKNOWN = 1.0

_LISTED = "constraints"
"""The system attribute that Optuna 4 kept a trial's constraints in, and its dashboard reads."""

_FAILED = optuna.trial.TrialState.FAIL
_PRUNED = optuna.trial.TrialState.PRUNED
_COMPLETE = optuna.trial.TrialState.COMPLETE

_JUDGED = (TrialState.PASSED, TrialState.REJECTED, TrialState.SKIPPED)
"""Of a front: what was trained on all of the gate's seeds, where it has an accuracy."""


def write(view: StudyView, folder: Path, margin: float) -> Path:
    """Write the whole study as one Optuna study with the objective, as a ratio to the baseline.

    Args:
        view: the study; every trial in it is final.
        folder: of the run.
        margin: of the accuracy constraint, in the metric's unit.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # a study that never came to its screening has not
    path = folder / FILE_NAME
    path.unlink(missing_ok=True)  # an earlier session's: this one holds all that it did
    assert view.started is not None
    study = optuna.create_study(
        study_name=view.started.study,
        storage=JournalStorage(JournalFileBackend(str(path))),
        directions=[StudyDirection.MAXIMIZE] * len(_values(view)),
        load_if_exists=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # it has been since 3.2
        study.set_metric_names(_values(view))
    for name, value in _study_attributes(view).items():
        study.set_user_attr(name, value)
    trials = list(view.trials.values())
    kinds = _distributions(trials)
    for trial in trials:
        study.add_trial(_of_front(trial, kinds) if len(_values(view)) > 1 else _frozen(trial, view, kinds, margin))
    return path


def _values(view: StudyView) -> list[str]:
    """What the values are, as the dashboard writes them beside its axes."""
    assert view.started is not None
    objective = Objective(view.started.config["objective"]["name"])
    speedup = "speedup over float32 (screening)"
    if objective is Objective.pareto:
        return [speedup, "metric less float32's, higher is better (gate)"]
    return [speedup if objective.is_of_throughput else f"gain in {objective.value} over float32 (screening)"]


def _study_attributes(view: StudyView) -> dict[str, Any]:
    """What a reader of the dashboard must know, in the order in which it lists it: that of the alphabet."""
    started, decided = view.started, view.decided
    assert started is not None
    front = len(_values(view)) > 1
    constraint = "feasible: went through the accuracy gate, and no confirmation refused it"
    value = "of one short probe, which ranks and proves nothing; confirmed figures are user attributes"
    if front:
        constraint = "none: rejected trials are here too, and their attributes say so"
        value = f"the first {value}; the second is the mean difference on the gate's seeds"
    return {
        "constraint": constraint,
        "decided": decided.reason if decided else "not decided",
        "device": started.device.get("title") or started.device.get("name"),
        "target": started.target.get("title") or started.target.get("name"),
        "value": value,
        "winner": decided.winner if decided else None,
    }


def _frozen(
    trial: TrialView, view: StudyView, kinds: dict[str, BaseDistribution], margin: float
) -> optuna.trial.FrozenTrial:
    gain = trial.gain.estimate if trial.gain else None
    if trial.is_baseline:
        gain = None if trial.probe is None else 1.0  # itself over itself, once it was timed
    # A failure of the baseline on a further seed takes nothing from what it was measured at.
    measured = gain is not None and (trial.is_baseline or trial.failure is None)
    violation = _violation(trial, view, margin)
    return optuna.trial.create_trial(
        state=_COMPLETE if measured else _FAILED,
        value=gain if measured else None,
        params=params(trial.candidate, kinds),
        distributions=kinds,
        user_attrs=_attributes(trial),
        system_attrs={_LISTED: [violation]},
        constraints={"accuracy": violation},
    )


def _of_front(trial: TrialView, kinds: dict[str, BaseDistribution]) -> optuna.trial.FrozenTrial:
    """Complete where both values are known, of one short probe and of the gate's seeds alike for all."""
    gain, delta = trial.gain.estimate if trial.gain else None, None
    if trial.is_baseline:
        gain, delta = 1.0, 0.0
    elif trial.accuracy is not None and trial.state in _JUDGED:
        delta = trial.accuracy.delta.estimate  # its own, or that of one that trains identically
    known = trial.probe is not None and gain is not None and delta is not None
    failed = trial.state is None or trial.state is TrialState.FAILED
    return optuna.trial.create_trial(
        state=_COMPLETE if known else _FAILED if failed else _PRUNED,
        values=[gain, delta] if gain is not None and delta is not None and known else None,
        params=params(trial.candidate, kinds),
        distributions=kinds,
        user_attrs=_attributes(trial),
    )


def _attributes(trial: TrialView) -> dict[str, Any]:
    """Figures with their units in their names, and what became of the trial; without what is not known."""
    probe, confirmed = trial.probe, trial.confirmation
    found = {
        "trial": trial.number,
        "settings": str(trial.candidate),
        "state": "baseline" if trial.is_baseline and trial.failure is None else trial.state,
        "reason": trial.reason,
        "screen_step_time_ms": probe.step_time_ms if probe else None,
        "screen_examples_per_s": probe.examples_per_s if probe else None,
        "accuracy_delta": trial.latest_delta,
        "confirmed_speedup": confirmed.speedup.estimate if confirmed and confirmed.speedup else None,
        "vouched_by_trial": trial.vouched_by,
    }
    always = ("trial", "state", "reason")
    return {name: _plain(value) for name, value in found.items() if value is not None or name in always}


def _plain(value: Any) -> Any:
    """Nine significant digits: the dashboard would show 0.30000000000000004."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return value.value if isinstance(value, TrialState) else value


def _violation(trial: TrialView, view: StudyView, margin: float) -> float:
    """Above zero: infeasible. By how much the gate was missed, where that is known."""
    if trial.is_baseline:
        return 0.0
    twin = view.trials.get(trial.vouched_by) if trial.vouched_by is not None else None
    delta = trial.latest_delta
    if delta is None and twin is not None:  # it was not trained: the other one trains identically
        delta = twin.latest_delta
    if delta is None:
        return _UNKNOWN
    if trial.accuracy is not None:
        margin = trial.accuracy.margin  # a relative one has its size from the baseline
    refused = trial.confirmation is not None and not trial.confirmation.succeeded
    if trial.state is TrialState.PASSED and not refused and not (twin is not None and _lost(twin)):
        return min(0.0, -margin - delta)
    return max(1e-9, -GATE * margin - delta)


def _lost(twin: TrialView) -> bool:
    """Whether its accuracy did not hold on new seeds, which is then true of whatever trains identically."""
    accuracy = twin.confirmation.accuracy if twin.confirmation else None
    return accuracy is not None and accuracy.verdict is not AccuracyVerdict.PASS


def _distributions(trials: list[TrialView]) -> dict[str, BaseDistribution]:
    """The values that occur, the baseline's among them, so that every trial fits its distributions."""
    values: dict[str, dict[Any, None]] = {}
    for trial in trials:
        for name, value in params(trial.candidate, FURTHER).items():
            values.setdefault(name, {})[value] = None
    return {name: _distribution(list(found)) for name, found in values.items() if name not in FURTHER or len(found) > 1}


def _distribution(values: list[Any]) -> BaseDistribution:
    """Whole numbers, all of which are sizes or counts, on a logarithmic axis; all else as it is spelt."""
    if all(type(value) is int for value in values):
        return IntDistribution(min(values), max(values), log=True)
    return CategoricalDistribution(values)
