"""Finds the latest study that answered the same question on the same device, for the order in which this one begins."""

from __future__ import annotations

from pathlib import Path

from autotune.config.schema import Config
from autotune.errors import UserError
from autotune.record.events import BASELINE_TRIAL, EarlierStudy, StudyStarted
from autotune.record.lines import read_lines, standing
from autotune.record.view import StudyView, TrialView
from autotune.study.ranking import gain_of
from autotune.tasks.changes import of_device, of_settings
from autotune.tasks.digests import OURS
from autotune.tasks.resume import records
from autotune.trial import Candidate, Stage, TrialState

# The best few: each takes the place of one that was never measured.
_MOST = 3

# What makes another question of it: the model, what a step computes, and what "best" means. A budget, the length of a
# training or an accuracy margin do not change which candidate is fast, and neither does what this package has learned.
_SAME = (
    "model.",
    "data.name",
    "data._target_",
    "data.args",
    "objective.name",
    "train.batch_size",
    "train.optimizer",
    "code of ",
)

_GOOD = (TrialState.PASSED, TrialState.DOMINATED, TrialState.SCREENED)


def earlier_study(config: Config, now: StudyStarted, own: Path) -> EarlierStudy:
    """The best candidates of the latest comparable study below `output.root`; none if there is no such study.

    Args:
        config: the configuration.
        now: how this study began.
        own: its record, which is not looked at.
    """
    for path in records(config):
        if path == own:
            continue
        try:
            lines = list(read_lines(path))
        except UserError:
            continue  # of another version, or damaged: it says nothing
        if not lines or not isinstance(before := lines[0].event, StudyStarted) or not _comparable(before, now):
            continue
        if candidates := _best(StudyView.of(line.event for line in standing(lines))):
            return EarlierStudy(before.study, candidates)
    return EarlierStudy(None, ())


def _is_good(trial: TrialView) -> bool:
    """Of a front, one that is dominated was trained and stopped since it fell behind."""
    fell_behind = trial.state is TrialState.DOMINATED and bool(trial.runs.get(Stage.VERIFY))
    return trial.state in _GOOD and not fell_behind


def _comparable(before: StudyStarted, now: StudyStarted) -> bool:
    """Whether nothing that decides what is fast has changed."""
    changed = {change.key for change in of_settings(before, now)} - {f"code of {OURS}"}
    return not any(key.startswith(_SAME) for key in changed) and not of_device(before, now)


def _best(view: StudyView) -> tuple[Candidate, ...]:
    """The winner, then what passed the gate or was never found less accurate, the fastest first; all of it faster."""

    def rank(trial: TrialView) -> tuple[bool, bool, float]:
        won = view.decided is not None and view.decided.winner == trial.number
        return not won, trial.state is not TrialState.PASSED, -gain_of(trial)

    good = [
        trial
        for trial in view.trials.values()
        if trial.number != BASELINE_TRIAL and _is_good(trial) and trial.gain is not None and gain_of(trial) > 1
    ]
    refused = {found.trial for found in view.confirmations if not found.succeeded}
    return tuple(trial.candidate for trial in sorted(good, key=rank) if trial.number not in refused)[:_MOST]
