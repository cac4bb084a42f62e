"""Writing parameters, metrics and tags in batches, without those that the store refuses for good."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autotune.tracking.store import reason

if TYPE_CHECKING:
    from mlflow import MlflowClient

PARAMETER, METRIC, TAG = "parameter", "metric", "tag"

# Limits of one request (mlflow.utils.validation): 100 parameters, 100 tags, and 1000 values of all kinds together.
_MOST = {PARAMETER: 100, TAG: 100, METRIC: 800}

# The store says itself that it is not at its best: the values need not be looked at.
_BUSY = ("TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED")

# A harmless write of what every run of ours holds anyway.
KNOCK = ("mlflow.source.name", "autotune")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Value:
    """One parameter, metric or tag of a run; `step` is of a metric, which is a finite number."""

    kind: str
    key: str
    value: str | float
    step: int = 0


class Refused:
    """Values that a store will never take: each is said once, and not sent again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Value], str] = {}

    def __contains__(self, sent: tuple[str, Value]) -> bool:
        """Whether this value was refused for the run of this id."""
        return sent in self._known

    @property
    def reasons(self) -> list[str]:
        """One line for each."""
        return list(self._known.values())

    def add(self, run_id: str, run_name: str, value: Value, error: Exception) -> None:
        """Keep it, and say it."""
        self._known[run_id, value] = f"the {value.kind} {value.key[:80]!r} of {run_name!r}: {reason(error)}"
        _log.warning("MLflow: left out %s", self._known[run_id, value])


class Writer:
    """Writes to one run. Whether a failure is the store's or a value's is found out by trying, not from its text.

    Args:
        client: bound to the store.
        run_id: of a run that exists.
        name: what people call the run.
        refused: grows by what the store refuses.
    """

    def __init__(self, client: MlflowClient, run_id: str, name: str, refused: Refused) -> None:
        self._client, self._run_id, self._name, self._refused = client, run_id, name, refused

    def write(self, values: Sequence[Value], at_ms: int) -> Iterator[list[Value]]:
        """Write values; yields those of each request once it is through, without the refused ones.

        Args:
            values: of any kind and number.
            at_ms: the metrics' time, Unix.

        Raises:
            Exception: whatever MLflow raises while the store takes nothing.
        """
        new = [value for value in values if (self._run_id, value) not in self._refused]
        for batch in _batches(new):
            yield self._write(batch, at_ms)

    def _write(self, batch: list[Value], at_ms: int) -> list[Value]:
        """Halves a batch that does not go through until the one value is found that does not."""
        try:
            self._send(batch, at_ms)
        except Exception as error:
            if getattr(error, "error_code", None) in _BUSY:
                raise
            self._client.set_tag(self._run_id, *KNOCK)  # raises unless the store takes other values
            if len(batch) == 1:
                return self._write_once_more(batch, at_ms)
            middle = len(batch) // 2
            return self._write(batch[:middle], at_ms) + self._write(batch[middle:], at_ms)
        return batch

    def _write_once_more(self, batch: list[Value], at_ms: int) -> list[Value]:
        """A connection that broke once is not the value's fault; what fails again while others go through is."""
        try:
            self._send(batch, at_ms)
        except Exception as error:
            if getattr(error, "error_code", None) in _BUSY:
                raise
            self._client.set_tag(self._run_id, *KNOCK)
            self._refused.add(self._run_id, self._name, batch[0], error)
            return []
        return batch

    def _send(self, batch: list[Value], at_ms: int) -> None:
        from mlflow.entities import Metric, Param, RunTag

        self._client.log_batch(
            self._run_id,
            [Metric(v.key, float(v.value), at_ms, v.step) for v in batch if v.kind == METRIC],
            [Param(v.key, str(v.value)) for v in batch if v.kind == PARAMETER],
            [RunTag(v.key, str(v.value)) for v in batch if v.kind == TAG],
        )


def _batches(values: Sequence[Value]) -> Iterator[list[Value]]:
    waiting = {kind: [value for value in values if value.kind == kind] for kind in _MOST}
    while any(waiting.values()):
        batch: list[Value] = []
        for kind, most in _MOST.items():
            batch += waiting[kind][:most]
            del waiting[kind][:most]
        yield batch
