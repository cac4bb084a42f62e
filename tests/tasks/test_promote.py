"""`task=promote` through the pipeline, on a real SQLite store."""

from __future__ import annotations

import pytest

from autotune.config.schema import Config, Task
from autotune.errors import UserError
from autotune.pipeline import run


@pytest.fixture
def config(tmp_path) -> Config:
    config = Config()
    config.task, config.model.name = Task.promote, "my/net"
    config.output.root = str(tmp_path / "outputs")
    return config


def test_without_a_store_there_is_nothing_to_promote(config, tmp_path):
    with pytest.raises(UserError, match="there is no MLflow store at"):
        run(config)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")
def test_the_alias_moves_and_the_evidence_is_shown(config, tmp_path, capsys):
    from mlflow import MlflowClient

    from autotune.tracking.store import prepare
    from autotune.tracking.uri import Store

    (tmp_path / "outputs").mkdir()
    uri = f"sqlite:///{tmp_path / 'outputs' / 'mlflow.db'}"
    prepare(Store(uri, str(tmp_path / "outputs" / "mlartifacts")), "unused")
    client = MlflowClient(uri)
    client.create_registered_model("my_net")
    for speedup in ("5.0", "6.0"):
        client.create_model_version("my_net", source=str(tmp_path), tags={"speedup": speedup, "on_target": "false"})
    client.set_registered_model_alias("my_net", "candidate", "1")

    assert run(config) == 0
    assert capsys.readouterr().out == (
        "my_net: the evidence for version 1\n  on_target = false\n  speedup = 5.0\n"
        "my_net: production is now version 1\n"
    )
    client.set_registered_model_alias("my_net", "candidate", "2")
    assert run(config) == 0
    assert capsys.readouterr().out.endswith("my_net: production is now version 2 (before: version 1)\n")
    assert client.get_model_version_by_alias("my_net", "production").version == 2

    config.model.name = "another"
    with pytest.raises(UserError, match="no version of the model 'another'"):
        run(config)
