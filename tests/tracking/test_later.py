from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from autotune.config.tracking import TrackingConfig
from autotune.errors import ConfigError
from autotune.record.events import StudyStarted
from autotune.tracking.later import experiment_of, store_of, sync_command
from autotune.tracking.uri import Store
from tests.sample_study import sample_events
from tests.tracking.logged import EXPERIMENT


def started(uri: str | None = None, output_dir: str = "/studies/cifar_mlp-rtx3090") -> StudyStarted:
    event = sample_events(output_dir=output_dir)[0]
    assert isinstance(event, StudyStarted)
    return replace(event, config=event.config | {"tracking": {**event.config["tracking"], "uri": uri}})


def overrides(command: str) -> dict[str, Any]:
    """What Hydra reads of a command that is typed into a shell."""
    parsed = OverridesParser.create().parse_overrides(shlex.split(command)[3:])
    return {str(override.key_or_group): override.value() for override in parsed}


def test_a_study_belongs_to_the_store_of_its_record_unless_told() -> None:
    by_default = store_of(started(), TrackingConfig(), {})
    assert by_default == Store("sqlite:////studies/mlflow.db", "/studies/mlartifacts")
    assert store_of(started("http://recorded:5000"), TrackingConfig(), {}).uri == "http://recorded:5000"
    assert store_of(started("http://recorded:5000"), TrackingConfig(uri="http://given"), {}).uri == "http://given"
    assert (
        store_of(started(), TrackingConfig(), {"MLFLOW_TRACKING_URI": "http://by-variable"}).uri == "http://by-variable"
    )


def test_an_address_whose_secret_the_record_does_not_have_must_be_given_again() -> None:
    kept = started("http://***@host:5000")
    with pytest.raises(ConfigError, match="keeps no secrets"):
        store_of(kept, TrackingConfig(), {})
    assert store_of(kept, TrackingConfig(), {"MLFLOW_TRACKING_URI": "http://me:s@host"}).uri == "http://me:s@host"
    assert store_of(kept, TrackingConfig(uri="http://me:s@host"), {}).uri == "http://me:s@host"


def test_the_experiment_is_the_recorded_models() -> None:
    assert experiment_of(started(), TrackingConfig()) == "autotune-cifar_mlp"
    assert experiment_of(started(), TrackingConfig(experiment="mine")) == "mine"


@pytest.mark.parametrize(
    "folder", ["/studies/a", "/my studies/it's here", "/stüdies/a", "/a=b/c,d", "/a'b\\c", "/a(b)[c]{d}", '/say "hi"']
)
def test_the_command_names_the_folder_as_the_shell_and_hydra_read_it(folder: str) -> None:
    event = started(output_dir=folder)
    command = sync_command(event, store_of(event, TrackingConfig(), {}), EXPERIMENT)
    assert overrides(command) == {"task": "sync", "study.folder": folder}


def test_the_command_names_the_store_only_where_the_record_does_not() -> None:
    other = Store("sqlite:////my stores/x.db", None)
    assert overrides(sync_command(started(), other, EXPERIMENT))["tracking.uri"] == other.uri
    secret = sync_command(started("http://***@host"), Store("http://me:secret@host", None), EXPERIMENT)
    assert "me:secret" not in secret
    assert secret.endswith("(with MLFLOW_TRACKING_URI set to the store's address, which holds a secret)")


def test_the_command_names_the_experiment_only_where_the_record_does_not() -> None:
    store = store_of(started(), TrackingConfig(), {})
    assert "tracking.experiment" not in overrides(sync_command(started(), store, EXPERIMENT))
    other = overrides(sync_command(started(), store, "it's mine, now"))
    assert other["tracking.experiment"] == "it's mine, now"
