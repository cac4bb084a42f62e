"""The MLflow sink: a queue and a thread, so that a slow store never holds up the study."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path

from autotune.config.schema import Config
from autotune.errors import TrackingError
from autotune.record.events import Event
from autotune.tracking import names
from autotune.tracking.store import prepare
from autotune.tracking.study_log import StudyLog
from autotune.tracking.uri import Store, masked, store_in_force

READY_S = 120.0  # importing MLflow and making a new database take 8 s on two idle cores, beside TensorFlow's import
FLUSH_S = 45.0  # two attempts of the HTTP time limit, and a little

_Write = Callable[[StudyLog], None]


class MlflowSink:
    """Sends a study to MLflow in the background, in order.

    Events may arrive before the store is ready: they wait in the queue. The first failure ends the sink: the next
    call raises it, the record notes it, and nothing more is sent.

    Args:
        config: the whole configuration.
        study: name of the study and of its parent run.
        store: where to; by default what `store_in_force` says.
        ready_s: longest wait for the store to open before an event is refused [s].
        flush_s: longest wait at the end for what is still queued [s].

    Raises:
        ConfigError: an address that cannot be a store.
    """

    name = "MLflow"

    def __init__(
        self,
        config: Config,
        study: str,
        *,
        store: Store | None = None,
        ready_s: float = READY_S,
        flush_s: float = FLUSH_S,
    ) -> None:
        self.store = store or store_in_force(config.tracking, Path(config.output.root))
        self.experiment = names.experiment(config)
        self._config, self._study = config, study
        self._ready_s, self._flush_s = ready_s, flush_s
        self._writes: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._started_s = 0.0
        self._settled = threading.Event()  # the parent run exists, or never will
        self._run_id: str | None = None
        self._failure: Exception | None = None

    def start(self) -> None:
        """Begin to import MLflow and to open the store, in the background; the first event does so too."""
        if self._thread is None:
            self._started_s = time.monotonic()
            began_ms = _now_ms()
            self._thread = threading.Thread(target=self._run, args=(began_ms,), name="mlflow-sink", daemon=True)
            self._thread.start()

    def on_event(self, event: Event) -> None:
        """Queue one event.

        Raises:
            TrackingError: the store failed, or is still not open.
        """
        self._raise_failure()
        self.start()
        if not self._settled.is_set() and time.monotonic() - self._started_s > self._ready_s:
            self._writes.put(None)
            raise TrackingError(f"the MLflow store {self.store} was not ready after {self._ready_s:.0f} s")
        at_ms = _now_ms()
        self._writes.put(lambda log: log.take(event, at_ms))

    def log_artifacts(self, files: dict[str, Path]) -> None:
        """Keep files and folders on the parent run, each under its name; nothing once the sink has failed."""
        if self._thread is not None and self._failure is None:
            self._writes.put(lambda log: log.attach(files))

    def run_id(self, timeout_s: float = READY_S) -> str | None:
        """The parent run's id, once there is one; `None` when the store failed or is not ready in time."""
        if self._thread is not None:
            self._settled.wait(timeout_s)
        return None if self._failure else self._run_id

    def close(self) -> None:
        """Write what is queued, end the runs.

        Raises:
            TrackingError: the store failed, or did not take everything in time.
        """
        if self._thread is None:
            return
        self._writes.put(None)
        self._thread.join(self._flush_s)
        if self._thread.is_alive():
            raise TrackingError(f"the MLflow store {self.store} had not taken everything after {self._flush_s:.0f} s")
        self._raise_failure()

    def _run(self, began_ms: int) -> None:
        try:
            opened = prepare(self.store, self.experiment)
            log = StudyLog(opened, self._config, self._study, began_ms)
            self._run_id = log.run_id
            self._settled.set()
            self._write(log)
        except Exception as error:  # noqa: BLE001 (raised on the study's thread, by the next call)
            self._failure = error
            self._settled.set()

    def _write(self, log: StudyLog) -> None:
        try:
            while (write := self._writes.get()) is not None:
                write(log)
        finally:
            log.finish(_now_ms())  # also after a failure: no run is left running for ever

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise TrackingError(masked(str(self._failure))) from self._failure


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
