"""What a store has of a study, as plain values, and what the tests of outages share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from autotune.record.events import Event
from autotune.tracking.artifacts import MANIFEST
from autotune.tracking.sink import MlflowSink
from autotune.tracking.uri import Store

STUDY = "cifar_mlp-rtx3090-20260301-101500"
EXPERIMENT = "autotune-cifar_mlp"

# Differ between two stores that hold the same study: ids, places, and what people are called.
_OWN = ("mlflow.parentRunId", "mlflow.user")


def tell(sink: MlflowSink, events: Iterable[Event]) -> None:
    for event in events:
        sink.on_event(event)


def until(condition: Callable[[], object], within_s: float = 60.0) -> None:
    """Wait for what another thread or process brings about."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)


def runs(store: Store, experiment: str = EXPERIMENT) -> list[Any]:
    """All runs of the experiment."""
    from mlflow import MlflowClient

    client = MlflowClient(store.uri)
    found = client.get_experiment_by_name(experiment)
    return list(client.search_runs([found.experiment_id], max_results=1000)) if found else []


def contents(store: Store, experiment: str = EXPERIMENT) -> dict[str, dict[str, Any]]:
    """Every run by its trial's number, or `study`: all that a person could read of it."""
    from mlflow import MlflowClient

    client = MlflowClient(store.uri)
    held = {}
    for run in runs(store, experiment):
        points = {
            key: sorted((point.step, point.value) for point in client.get_metric_history(run.info.run_id, key))
            for key in run.data.metrics
            if key.startswith("by_")
        }
        held[run.data.tags.get("trial", "study")] = {
            "name": run.info.run_name,
            "status": run.info.status,
            "params": run.data.params,
            "metrics": run.data.metrics,
            "tags": {
                key: _anywhere(value, run.info.run_id, run.info.experiment_id)
                for key, value in run.data.tags.items()
                if key not in _OWN
            },
            "points": points,
            "files": run.data.tags.get(MANIFEST),
        }
    return held


def _anywhere(text: str, run_id: str, experiment_id: str) -> str:
    """A text without the ids in its links, which are the store's own."""
    return text.replace(run_id, "RUN").replace(f"#/experiments/{experiment_id}/", "#/experiments/ID/")
