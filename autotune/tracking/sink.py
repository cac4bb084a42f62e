"""The MLflow sink: a thread of its own, so that neither a slow store nor one that is away holds up the study."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autotune.config.schema import Config
from autotune.errors import TrackingError
from autotune.interruption import at_most
from autotune.record.events import Event
from autotune.tracking import names
from autotune.tracking.later import sync_command
from autotune.tracking.store import reason
from autotune.tracking.study_log import StudyLog
from autotune.tracking.uri import Store, store_in_force
from autotune.tracking.wanted import UnixTime, Wanted

READY_S = 120.0  # importing MLflow and making a new database take 8 s on two idle cores, beside TensorFlow's import
FLUSH_S = 45.0  # two attempts of the HTTP time limit, and a little
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0  # between attempts while the store fails; each is twice the last
_LOOK_S = 0.2  # how often a wait asks whether it became shorter
ENDING_PAUSE_S = 2.0  # the longest once the study has ended and waits

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Told:
    """An event that waits. A live one is news; a replayed one says what the store should have by now."""

    event: Event
    at_ms: int
    live: bool


class MlflowSink:
    """Sends a study to MLflow in the background.

    While the store fails, what was told waits here and is tried again, with a pause that grows to a minute. What an
    earlier session recorded is sent, as far as the store does not have it, once there is something new.

    Args:
        config: the whole configuration.
        study: name of the study and of its parent run.
        store: where to; by default what `store_in_force` says.
        flush_s: longest wait at the end for what is not sent yet [s].

    Raises:
        ConfigError: an address that cannot be a store.
    """

    name = "MLflow"

    def __init__(self, config: Config, study: str, *, store: Store | None = None, flush_s: float = FLUSH_S) -> None:
        self.store = store or store_in_force(config.tracking, Path(config.output.root))
        self.experiment = names.experiment(config.tracking.experiment, config.model.name)
        self._flush_s = flush_s
        self._times = UnixTime()
        self._thread: threading.Thread | None = None
        # Only the thread touches these two while it runs.
        self._wanted = Wanted(study)
        self._study_log = StudyLog(self.store, self.experiment, self._wanted)
        self._anything_new = False
        # Shared with the thread, under this condition.
        self._news = threading.Condition()
        self._told: deque[_Told] = deque()
        self._files: dict[str, Path | str] = {}
        self._count, self._sent = 0, 0  # events told, and those that the store has
        self._busy, self._closing, self._given_up = False, False, False
        self._away: str | None = None  # why the store did not take what it was sent last
        self._fault: Exception | None = None  # of ours

    @property
    def left_out(self) -> list[str]:
        """Single values that the store refused for good, one line each."""
        return self._study_log.refused.reasons

    def start(self) -> None:
        """Begin to import MLflow and to open the store, in the background; the first event does so too."""
        if self._thread is None:
            self._busy = True
            self._thread = threading.Thread(target=self._run, name="mlflow-sink", daemon=True)
            self._thread.start()

    def on_event(self, event: Event) -> None:
        """Take one event. Raises `TrackingError` only for a fault of this sink itself, never for the store's."""
        self._tell(_Told(event, time.time_ns() // 1_000_000, live=True))

    def on_replayed(self, event: Event, at_s: float) -> None:
        """Take one event of an earlier session, which recorded it at the study's running time `at_s` [s]."""
        self._tell(_Told(event, self._times.ms(event, at_s), live=False))

    def log_artifacts(self, files: Mapping[str, Path]) -> None:
        """Keep files and folders on the parent run, each under its name."""
        with self._news:
            self._files |= files
            self._news.notify_all()

    def run_id(self, timeout_s: float = READY_S) -> str | None:
        """The parent run's id, with all that was told sent; `None` if the store is away, or slower than `timeout_s`."""
        with self._news:
            done = self._news.wait_for(lambda: self._away is not None or not (self._busy or self._told), timeout_s)
            return self._study_log.run_id if done and self._away is None else None

    def close(self, wait_s: float | None = None) -> None:
        """Send what is not sent yet, and end the runs.

        Args:
            wait_s: longest wait for the store, by default `flush_s` [s]; less if the process is to end before.

        Raises:
            TrackingError: how much was not sent, why, and the command that sends it later.
        """
        if self._thread is None:
            return
        self._set_closing()
        self._join(self._thread, self._flush_s if wait_s is None else wait_s)
        with self._news:
            self._given_up = True
            self._news.notify_all()
            self._raise_fault()
            if self._thread.is_alive() or self._away is not None:
                raise TrackingError(self._missing())

    def _tell(self, told: _Told) -> None:
        self._raise_fault()
        with self._news:
            self._told.append(told)
            self._count += 1
            self._news.notify_all()
        self.start()

    def _set_closing(self) -> None:
        with self._news:
            self._closing = True
            self._news.notify_all()

    def _join(self, thread: threading.Thread, wait_s: float) -> None:
        """Wait for the thread; less long once a signal asks that the process ends, which may come meanwhile."""
        until_s = time.monotonic() + wait_s
        while thread.is_alive() and (left_s := at_most(until_s - time.monotonic())) > 0:
            thread.join(min(left_s, _LOOK_S))

    def _missing(self) -> str:
        missed, started = self._count - self._sent, self._wanted.view.started
        what = f"{missed} of {self._count} events were" if missed else "files of the study were"
        why = (self._away or "it takes too long").removeprefix(f"cannot open the MLflow store {self.store}: ")
        later = f"; send it later with: {sync_command(started, self.store, self.experiment)}" if started else ""
        return f"{what} not sent to the MLflow store {self.store} ({why}){later}"

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise TrackingError(reason(self._fault)) from self._fault

    # What follows runs on the thread.

    def _run(self) -> None:
        failed = 0  # times in a row
        try:
            while True:
                count, ending = self._take()
                failed = 0 if self._deliver(count, ending) else failed + 1
                if (ending and not failed) or not self._rest(failed, ending):
                    return
        except Exception as error:  # noqa: BLE001 (raised on the study's thread, by the next call)
            self._fault = error
            self._wanted.finish()
            with suppress(TrackingError):  # no run is left running for ever
                self._study_log.send()
        finally:
            with self._news:
                self._busy = False
                self._news.notify_all()

    def _take(self) -> tuple[int, bool]:
        """Fold all that was told; returns how many events that are so far, and whether they were the last."""
        with self._news:
            told, files, count, ending = list(self._told), self._files, self._count, self._closing
            self._told.clear()
            self._files, self._busy = {}, True
        for one in told:
            self._wanted.take(one.event, one.at_ms)
            self._anything_new = self._anything_new or one.live
        if files:
            self._wanted.attach(files)
        if ending:
            self._wanted.finish()
            # A study that had ended, and that was only looked at again, may have missed the store at that time.
            self._anything_new = self._anything_new or self._wanted.view.decided is not None
        return count, ending

    def _deliver(self, count: int, ending: bool) -> bool:
        """Whether the store has the first `count` events now, and the files."""
        try:
            if self._anything_new and self._wanted.key:
                self._study_log.send()
                self._set(sent=count, away=self._away)
                self._study_log.send_files()
            elif not ending:
                self._study_log.open()
        except TrackingError as error:
            if self._away is None:
                _log.warning("%s does not take what it is sent (%s): it waits, and is tried again", self.store, error)
            self._set(sent=self._sent, away=str(error))
            return False
        if self._away is not None:
            _log.info("%s is back and has all that it missed", self.store)
        self._set(sent=count, away=None)
        return True

    def _set(self, sent: int, away: str | None) -> None:
        with self._news:
            self._sent, self._away = sent, away

    def _rest(self, failed: int, ending: bool) -> bool:
        """Wait for something new, or after a failure for the next attempt; False when nothing more is to be tried."""
        pause_s = min(FIRST_PAUSE_S * 2 ** (failed - 1), ENDING_PAUSE_S if ending else LONGEST_PAUSE_S)
        with self._news:
            self._busy = False
            self._news.notify_all()
            if failed:
                self._news.wait_for(lambda: self._given_up or (self._closing and not ending), pause_s)
            else:
                self._news.wait_for(lambda: self._told or self._files or self._closing)
            return not self._given_up
