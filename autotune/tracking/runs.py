"""One MLflow run, written through the client: never through MLflow's global active run, which threads would share."""

from __future__ import annotations

import getpass
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from autotune.tracking.names import MAX_NAME, MAX_PARAM, MAX_TAG, shortened
from autotune.tracking.rows import Row
from autotune.tracking.store import OpenStore

if TYPE_CHECKING:
    from mlflow import MlflowClient

# Limits of one request (mlflow.utils.validation).
_METRICS_PER_BATCH = 1000
_OTHERS_PER_BATCH = 100


class LoggedRun:
    """A run that is sent only what has changed since it was last written.

    Args:
        client: bound to the store.
        run_id: of a run that exists.
    """

    def __init__(self, client: MlflowClient, run_id: str) -> None:
        self.run_id = run_id
        self._client = client
        self._params: set[str] = set()
        self._metrics: dict[str, float] = {}
        self._tags: dict[str, str] = {}

    @classmethod
    def create(cls, opened: OpenStore, name: str, start_ms: int, parent: str | None = None) -> LoggedRun:
        """A new run, nested in `parent` if that is given."""
        tags = {"mlflow.user": _user(), "mlflow.source.name": "autotune", "mlflow.source.type": "LOCAL"}
        if parent:
            tags["mlflow.parentRunId"] = parent
        created = opened.client.create_run(
            opened.experiment_id, start_time=start_ms, tags=tags, run_name=name[:MAX_NAME]
        )
        return cls(opened.client, str(created.info.run_id))

    def update(self, row: Row, at_ms: int) -> None:
        """Write what is new. A parameter keeps its first value: MLflow refuses to change one."""
        params = {key: value for key, value in row.params.items() if key not in self._params}
        metrics = {key: value for key, value in row.metrics.items() if self._metrics.get(key) != value}
        tags = {key: value for key, value in row.tags.items() if self._tags.get(key) != value}
        self._log([(key, value, 0) for key, value in metrics.items()], params, tags, at_ms)
        self._params |= params.keys()
        self._metrics |= metrics
        self._tags |= tags

    def points(self, points: Iterable[tuple[str, float, int]], at_ms: int) -> None:
        """Write finite metrics with their step: (name, value, step)."""
        self._log(list(points), {}, {}, at_ms)

    def reopen(self) -> None:
        """Show the run as running again."""
        self._client.update_run(self.run_id, status="RUNNING")

    def rename(self, name: str) -> None:
        """Show the run under another name."""
        self._client.update_run(self.run_id, name=name[:MAX_NAME])

    def end(self, status: str, at_ms: int) -> None:
        """Show the run as FINISHED, FAILED or KILLED."""
        self._client.set_terminated(self.run_id, status=status, end_time=at_ms)

    def text(self, text: str, name: str) -> None:
        """Keep a text as an artifact."""
        self._client.log_text(self.run_id, text, name)

    def attach(self, name: str, path: Path) -> None:
        """Keep a file or a folder as the artifact `name`, which may have folders in it."""
        target = PurePosixPath(name)
        if path.is_dir():
            self._client.log_artifacts(self.run_id, str(path), str(target))
            return
        folder = None if target.parent == PurePosixPath(".") else str(target.parent)
        if path.name == target.name:
            self._client.log_artifact(self.run_id, str(path), folder)
            return
        with tempfile.TemporaryDirectory() as renamed:  # MLflow keeps a file's own name
            copy = Path(renamed, target.name)
            shutil.copyfile(path, copy)
            self._client.log_artifact(self.run_id, str(copy), folder)

    def _log(
        self, metrics: list[tuple[str, float, int]], params: dict[str, str], tags: dict[str, str], at_ms: int
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        all_metrics = [Metric(key, value, at_ms, step) for key, value, step in metrics]
        all_params = [Param(key, shortened(value, MAX_PARAM)) for key, value in params.items()]
        all_tags = [RunTag(key, shortened(value, MAX_TAG)) for key, value in tags.items()]
        while all_metrics or all_params or all_tags:
            self._client.log_batch(
                self.run_id,
                _take(all_metrics, _METRICS_PER_BATCH - 2 * _OTHERS_PER_BATCH),  # at most 1000 of all kinds together
                _take(all_params, _OTHERS_PER_BATCH),
                _take(all_tags, _OTHERS_PER_BATCH),
            )


def _take(items: list[Any], most: int) -> list[Any]:
    taken = items[:most]
    del items[:most]
    return taken


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return "unknown"
