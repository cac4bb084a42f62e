"""The study as Optuna's own persistent storage, for its dashboard and its API. Written when trials are final.

Optuna's study is a view: the record decides the winner. A trial's constraint can be set only once and a trial without
one counts as feasible, so each trial is added once, when it is final, and carries its constraint: at most zero only if
it went through the accuracy gate and was not refused by the confirmation (or is the baseline).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from autotune.decide.accuracy import GATE
from autotune.record.view import StudyView, TrialView
from autotune.study.propose import FURTHER, params
from autotune.trial import TrialState

FILE_NAME = "optuna.journal"

# What an unverified candidate is told as: infeasible, since nothing is known of its accuracy.
_UNKNOWN = 1.0

_FAILED = optuna.trial.TrialState.FAIL
_COMPLETE = optuna.trial.TrialState.COMPLETE


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
        direction="maximize",
        load_if_exists=True,
    )
    trials = list(view.trials.values())
    kinds = _distributions(trials)
    for trial in trials:
        study.add_trial(_frozen(trial, kinds, margin))
    return path


def _frozen(trial: TrialView, kinds: dict[str, BaseDistribution], margin: float) -> optuna.trial.FrozenTrial:
    gain = trial.gain.estimate if trial.gain else None
    if trial.is_baseline:
        gain = None if trial.probe is None else 1.0  # itself over itself, once it was timed
    # A failure of the baseline on a further seed takes nothing from what it was measured at.
    measured = gain is not None and (trial.is_baseline or trial.failure is None)
    state = trial.state.value if trial.state else None
    attributes: dict[str, Any] = {"trial": trial.number, "state": state, "reason": trial.reason}
    if trial.probe is not None:
        attributes["examples_per_s"] = trial.probe.examples_per_s
    return optuna.trial.create_trial(
        state=_COMPLETE if measured else _FAILED,
        value=gain if measured else None,
        params=params(trial.candidate, kinds),
        distributions=kinds,
        user_attrs=attributes,
        constraints={"accuracy": _violation(trial, margin)},
    )


def _violation(trial: TrialView, margin: float) -> float:
    """Above zero: infeasible. By how much the gate was missed, where that is known."""
    if trial.is_baseline:
        return 0.0
    delta = trial.latest_delta
    if delta is None:
        return _UNKNOWN
    if trial.accuracy is not None:
        margin = trial.accuracy.margin  # a relative one has its size from the baseline
    refused = trial.confirmation is not None and not trial.confirmation.succeeded
    if trial.state is TrialState.PASSED and not refused:
        return min(0.0, -margin - delta)
    return max(1e-9, -GATE * margin - delta)


def _distributions(trials: list[TrialView]) -> dict[str, BaseDistribution]:
    """The values that occur, the baseline's among them, so that every trial fits its distributions."""
    values: dict[str, dict[Any, None]] = {}
    for trial in trials:
        for name, value in params(trial.candidate, FURTHER).items():
            values.setdefault(name, {})[value] = None
    return {
        name: CategoricalDistribution(list(found))
        for name, found in values.items()
        if name not in FURTHER or len(found) > 1
    }
