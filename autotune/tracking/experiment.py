"""What an experiment shows before a run is opened: how to read it, and views of its trials and its studies."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from autotune.tracking.pages import runs_page
from autotune.tracking.saved_views import LAST, STUDIES, TAG, TRIALS, last_study_view, made_ms, standing_views

if TYPE_CHECKING:
    from mlflow import MlflowClient

NOTE = "mlflow.note.content"
_OURS = "One run a study, one nested run a trial."
"""How a description of ours begins; a person's own stays."""

_READING = """
- `screen_...` is one short probe: it ranks, and proves nothing. `speedup`, `step_time_ms`, `examples_per_s` and all
  that begins with `confirmed_` were confirmed in fresh processes on new seeds: only these may be quoted.
- A name ends in its unit (`_ms`, `_s`, `_mb`, `_per_s`). Without one it is a share, or a ratio to float32, which is 1
  (`speedup`) or 0 (`accuracy_delta`, in the metric's unit; 0.01 of an accuracy is one percentage point). `_low` and
  `_high` are the ends of its interval.
- `state` says what became of a trial, `gate` what a few seeds let through, `verdict` what the confirmation said of the
  accuracy. `target` and `device`: what was asked for, and what was measured.
- Group by `study`, or by `sweep` for the studies of one multirun.
"""

_log = logging.getLogger(__name__)


def furnish(client: MlflowClient, experiment_id: str) -> None:
    """Give an experiment its description and its views, as far as it does not have them. What fails is left out."""
    held = _held(client, experiment_id)
    wanted = standing_views()
    if held is None:
        return
    if held.get(NOTE, _OURS).startswith(_OURS):
        wanted[NOTE] = description(experiment_id)
    if TAG + LAST not in held:  # its address is in the description already
        wanted[TAG + LAST] = wanted[TAG + TRIALS]
    for key, text in wanted.items():
        if held.get(key) != text:
            _set(client, experiment_id, key, text)


def point_at_study(client: MlflowClient, experiment_id: str, study: str, started_ms: int) -> None:
    """Have the view of the last study show this one, unless it shows a later one. What fails is left out."""
    held = _held(client, experiment_id)
    if held is not None and made_ms(held.get(TAG + LAST, "")) < started_ms:
        _set(client, experiment_id, TAG + LAST, last_study_view(study, started_ms))


def description(experiment_id: str) -> str:
    """Markdown for the experiment's page."""
    views = ((LAST, "the last study's trials"), (TRIALS, "all trials"), (STUDIES, "all studies"))
    links = [f"[{title}]({runs_page(experiment_id, view, charts=True)})" for view, title in views]
    return f"{_OURS} As charts: {', '.join(links)}; the same as tables: Saved views.\n{_READING}"


def _held(client: MlflowClient, experiment_id: str) -> Mapping[str, str] | None:
    """The experiment's tags; None where they cannot be had."""
    try:
        return dict(client.get_experiment(experiment_id).tags)
    except Exception as error:  # noqa: BLE001 (the study's runs stand without it)
        _log.debug("MLflow: the experiment's tags cannot be read: %s", error)
        return None


def _set(client: MlflowClient, experiment_id: str, key: str, text: str) -> None:
    """No run hangs on it, and an older server takes shorter ones."""
    try:
        client.set_experiment_tag(experiment_id, key, text)
    except Exception as error:  # noqa: BLE001 (the study's runs stand without it)
        _log.debug("MLflow: left out the experiment's tag %s: %s", key, error)
