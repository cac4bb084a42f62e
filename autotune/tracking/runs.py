"""One MLflow run, written through the client: never through MLflow's global active run, which threads would share."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

from autotune.tracking.dataset import UsedData
from autotune.tracking.names import MAX_NAME, MAX_PARAM, MAX_TAG, shortened
from autotune.tracking.points import Point
from autotune.tracking.rows import TRANSIENT_TAGS
from autotune.tracking.values import KNOCK, METRIC, PARAMETER, TAG, Refused, Value, Writer
from autotune.tracking.wanted import RUNNING, WantedRun

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

_NAME = "mlflow.runName"
_CHANGED = "changed_params"


def creation_tags() -> dict[str, str]:
    """What every run of ours carries from its first moment."""
    return {"mlflow.user": _user(), "mlflow.source.type": "LOCAL", KNOCK[0]: KNOCK[1]}


class LoggedRun:
    """A run in the store that is brought to what it should be by sending what is new or different.

    Args:
        client: bound to the store.
        run: as the store has it.
        refused: what the store does not take.

    Attributes:
        sent: how many values were written.
    """

    def __init__(self, client: MlflowClient, run: Run, refused: Refused) -> None:
        self.run_id = str(run.info.run_id)
        self.sent = 0
        self._client, self._refused = client, refused
        self._status, self._start_ms, self._end_ms = run.info.status, run.info.start_time, run.info.end_time or 0
        self._params: dict[str, str] = dict(run.data.params)
        self._metrics: dict[str, float] = dict(run.data.metrics)
        self._tags: dict[str, str] = dict(run.data.tags)
        self._points: dict[str, set[tuple[float, int]]] = {}
        used = run.inputs.dataset_inputs if run.inputs else []
        self._data = {(one.dataset.name, one.dataset.digest) for one in used}

    @property
    def tags(self) -> dict[str, str]:
        """As far as the store has them."""
        return self._tags

    def bring(self, wanted: WantedRun, now_ms: int) -> None:
        """Write what is missing; what is there already stays. A parameter keeps its first value, as MLflow wants it."""
        tags = self._wanted_tags(wanted)
        self.write([*self._new_params(wanted), *self._new_tags(tags), *self._new_metrics(wanted)], wanted.name, now_ms)
        for key in sorted(self._tags.keys() & (TRANSIENT_TAGS | {_CHANGED}) - tags.keys()):
            self._client.delete_tag(self.run_id, key)
            del self._tags[key]
        self._bring_data(wanted.data)
        self._bring_status(wanted.status, wanted.end_ms)

    def close(self, status: str, at_ms: int) -> None:
        """Show the run as ended, unless it is."""
        if self._status == RUNNING:
            self._bring_status(status, at_ms)

    def write(self, values: list[Value], name: str, now_ms: int) -> None:
        """Write values, and remember each as it is through."""
        for written in Writer(self._client, self.run_id, name, self._refused).write(values, now_ms):
            self.sent += len(written)
            for value in written:
                self._remember(value)

    def _remember(self, value: Value) -> None:
        if value.kind == PARAMETER:
            self._params[value.key] = str(value.value)
        elif value.kind == TAG:
            self._tags[value.key] = str(value.value)
        elif value.key in self._points:
            self._points[value.key].add((float(value.value), value.step))
        else:
            self._metrics[value.key] = float(value.value)

    def _wanted_tags(self, wanted: WantedRun) -> dict[str, str]:
        tags = wanted.row.tags | {_NAME: wanted.name[:MAX_NAME]}
        # Such as of the winner of a study that had ended and then went on.
        if changed := {key: text for key, text in _params(wanted).items() if self._params.get(key, text) != text}:
            tags |= {_CHANGED: ", ".join(f"{key}={text}" for key, text in changed.items())}
        return {key: shortened(text, MAX_TAG) for key, text in tags.items()}

    def _new_params(self, wanted: WantedRun) -> list[Value]:
        return [Value(PARAMETER, key, text) for key, text in _params(wanted).items() if key not in self._params]

    def _new_tags(self, tags: dict[str, str]) -> list[Value]:
        return [Value(TAG, key, text) for key, text in tags.items() if self._tags.get(key) != text]

    def _new_metrics(self, wanted: WantedRun) -> list[Value]:
        latest = [
            Value(METRIC, key, number) for key, number in wanted.row.metrics.items() if self._metrics.get(key) != number
        ]
        return latest + [Value(METRIC, *point) for point in wanted.points if self._is_new(point)]

    def _is_new(self, point: Point) -> bool:
        key, number, step = point
        if key not in self._points:
            known = key in self._metrics  # the store has shown the latest of its points only
            history = self._client.get_metric_history(self.run_id, key) if known else []
            self._points[key] = {(entry.value, entry.step) for entry in history}
        return (number, step) not in self._points[key]

    def _bring_data(self, data: UsedData | None) -> None:
        """Twice is no harm: the store knows it again."""
        if data is not None and (data.name, data.digest) not in self._data:
            self._client.log_inputs(self.run_id, [data.as_input()])
            self._data.add((data.name, data.digest))

    def _bring_status(self, status: str, end_ms: int) -> None:
        end_ms = max(end_ms, self._start_ms)
        if status == RUNNING:
            if self._status != RUNNING:
                self._client.update_run(self.run_id, status=RUNNING)
        elif self._status != status or end_ms > self._end_ms:
            self._client.set_terminated(self.run_id, status=status, end_time=end_ms)
            self._end_ms = end_ms
        self._status = status


def _params(wanted: WantedRun) -> dict[str, str]:
    return {key: shortened(text, MAX_PARAM) for key, text in wanted.row.params.items()}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return "unknown"
