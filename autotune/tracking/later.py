"""Sending a study from its record: to which store, and by which command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from autotune.config.override_text import override
from autotune.config.tracking import TrackingConfig
from autotune.errors import ConfigError
from autotune.masking import HIDDEN
from autotune.record.events import StudyStarted
from autotune.tracking.names import experiment
from autotune.tracking.uri import VARIABLE, Store, store_in_force


def store_of(started: StudyStarted, tracking: TrackingConfig, environ: Mapping[str, str] = os.environ) -> Store:
    """The store that a study belongs to: the one asked for now, else that of its record, else as for a new study.

    Raises:
        ConfigError: the record has the address without its secret, and nothing else names it.
    """
    uri = tracking.uri or _text(started, "tracking", "uri")
    if uri and HIDDEN in uri:
        if not environ.get(VARIABLE):
            raise ConfigError(
                f"tracking.uri must be given again, but got {uri} from the record, which keeps no secrets;"
                f" add tracking.uri=... or set {VARIABLE}"
            )
        uri = None
    return store_in_force(TrackingConfig(uri=uri), Path(_text(started, "output", "root") or "."), environ)


def experiment_of(started: StudyStarted, tracking: TrackingConfig) -> str:
    """The experiment that a study belongs to."""
    chosen = tracking.experiment or _text(started, "tracking", "experiment")
    return experiment(chosen, _text(started, "model", "name") or "")


def sync_command(started: StudyStarted, store: Store, experiment: str) -> str:
    """What to type to send a study to this experiment of this store later; a resumed one may have another by now."""
    words = ["python", "-m", "autotune", "task=sync", override("study.folder", started.output_dir)]
    if experiment != experiment_of(started, TrackingConfig()):
        words.append(override("tracking.experiment", experiment))
    if _recorded(started) == store.uri:
        return shlex.join(words)
    if str(store) == store.uri:
        return shlex.join([*words, override("tracking.uri", store.uri)])
    return shlex.join(words) + f" (with {VARIABLE} set to the store's address, which holds a secret)"


def _recorded(started: StudyStarted) -> str | None:
    try:
        return store_of(started, TrackingConfig(), {}).uri
    except ConfigError:
        return None


def _text(started: StudyStarted, group: str, key: str) -> str | None:
    value = started.config[group][key]
    return None if value is None else str(value).replace("\\${", "${")  # as `to_yaml_dict` writes it
