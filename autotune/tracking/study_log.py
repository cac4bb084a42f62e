"""Bringing a store to what a study wants in it, whatever it has of it already.

The parent is found by a tag with the study's key, its trials by MLflow's tag of their parent and one with their number.
So it is the same to go on after a failure in the middle, after a kill and a resumption, or days later from the record.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from autotune.errors import TrackingError
from autotune.tracking import artifacts
from autotune.tracking.experiment import NOTE, point_at_study
from autotune.tracking.last_study import STUDY_KEY
from autotune.tracking.names import MAX_NAME
from autotune.tracking.pages import described
from autotune.tracking.runs import LoggedRun, creation_tags
from autotune.tracking.store import OpenStore, prepare, reason
from autotune.tracking.uri import Store
from autotune.tracking.values import TAG, Refused, Value
from autotune.tracking.wanted import FILES, PARENT, Wanted, WantedRun

if TYPE_CHECKING:
    from mlflow.entities import Run

_PARENT_ID = "mlflow.parentRunId"
_TRIAL = "trial"
_PAGE = 1000

_log = logging.getLogger(__name__)


@dataclass
class Sent:
    """How much was new to the store."""

    runs: int = 0
    values: int = 0
    files: int = 0


class StudyLog:
    """Sends one study to one store. After a failure, what the store has is looked up anew.

    Args:
        store: where to.
        experiment: name of the experiment, made if it is not there.
        wanted: what to send; changes between the calls of `send`.

    Attributes:
        refused: values that the store does not take, which are left out.
        sent: how much was new to the store so far.
    """

    def __init__(self, store: Store, experiment: str, wanted: Wanted) -> None:
        self.store = store
        self.refused = Refused()
        self.sent = Sent()
        self._experiment, self._wanted = experiment, wanted
        self._opened: OpenStore | None = None
        self._runs: dict[int, LoggedRun] = {}
        self._latest_ms = 0

    @property
    def run_id(self) -> str | None:
        """The parent run's, once the store has it."""
        return self._runs[PARENT].run_id if PARENT in self._runs else None

    def open(self) -> None:
        """Import MLflow and open the store, if that was not done.

        Raises:
            TrackingError: the store cannot be reached, or cannot be written.
        """
        if self._opened is None:
            self._opened = prepare(self.store, self._experiment)

    def send(self) -> None:
        """Send what has changed: the trials, the parent, then files; the first time, and after a failure, all of it.

        Raises:
            TrackingError: the store does not take it now. It may be called again, at any time.
        """
        with self._attempt():
            self.open()
            self._attach()
        for number in [*self._wanted.trials(), PARENT]:
            if number in self._wanted.changed:
                run = self._wanted.parent() if number == PARENT else self._wanted.trial(number)
                with self._attempt():
                    self._bring(number, run)
                self._wanted.changed.discard(number)

    def send_files(self) -> None:
        """Send the files that are new or different, after `send`.

        Raises:
            TrackingError: as for `send`.
        """
        if FILES in self._wanted.changed:
            with self._attempt():
                self._send_files()
            self._wanted.changed.discard(FILES)

    @contextmanager
    def _attempt(self) -> Iterator[None]:
        try:
            yield
        except TrackingError:
            self._forget()
            raise
        except Exception as error:  # noqa: BLE001 (databases, HTTP clients, file stores: all raise their own)
            self._forget()
            raise TrackingError(reason(error)) from None

    def _forget(self) -> None:
        self._opened = None
        self._runs.clear()
        self._wanted.all_changed()

    def _attach(self) -> None:
        """Find the study's runs in the store, or make the parent."""
        if PARENT in self._runs:
            return
        key = self._wanted.key
        assert key is not None
        found = next(self._search(f"tags.`{STUDY_KEY}` = '{key}'"), None)
        parent = self._run(found) if found else self._create(self._wanted.parent(), {STUDY_KEY: key})
        for run in self._search(f"tags.`{_PARENT_ID}` = '{parent.run_id}'"):
            if (text := run.data.tags.get(_TRIAL, "")).isdecimal():
                self._runs.setdefault(int(text), self._run(run))
        self._runs[PARENT] = parent
        self._wanted.all_changed()
        for number in self._runs.keys() - {PARENT, *self._wanted.trials()}:
            # Begun by a session that was killed, and not, or not yet, asked for again.
            self._runs[number].close("KILLED", self._now_ms())
        assert self._opened is not None
        point_at_study(self._opened.client, self._opened.experiment_id, *self._wanted.began)

    def _search(self, condition: str) -> Iterator[Run]:
        assert self._opened is not None
        client, token = self._opened.client, None
        while True:
            page: Any = client.search_runs(
                [self._opened.experiment_id],
                filter_string=condition,
                max_results=_PAGE,
                order_by=["attributes.start_time ASC"],
                page_token=token,
            )
            yield from page
            if not (token := page.token):
                return

    def _run(self, run: Run) -> LoggedRun:
        assert self._opened is not None
        return LoggedRun(self._opened.client, run, self.refused)

    def _create(self, wanted: WantedRun, tags: dict[str, str]) -> LoggedRun:
        assert self._opened is not None
        run = self._opened.client.create_run(
            self._opened.experiment_id, wanted.start_ms, creation_tags() | tags, wanted.name[:MAX_NAME]
        )
        self.sent.runs += 1
        return self._run(run)

    def _bring(self, number: int, wanted: WantedRun) -> None:
        if number not in self._runs:
            tags = {_PARENT_ID: self._runs[PARENT].run_id, _TRIAL: str(number)}
            self._runs[number] = self._create(wanted, tags)
        run = self._runs[number]
        if number == PARENT:
            wanted = self._linked(wanted)
        before = run.sent
        try:
            run.bring(wanted, self._now_ms())
        finally:
            self.sent.values += run.sent - before

    def _linked(self, wanted: WantedRun) -> WantedRun:
        """The parent with the addresses of its pages in its description, which are known once it is in the store."""
        assert self._opened is not None
        run_id, experiment_id = self._runs[PARENT].run_id, self._opened.experiment_id
        study = self._wanted.began[0]
        note = described(wanted.row.tags.get(NOTE, ""), experiment_id, run_id, study, self._wanted.files)
        return replace(wanted, row=replace(wanted.row, tags=wanted.row.tags | {NOTE: note}))

    def _send_files(self) -> None:
        assert self._opened is not None
        parent = self._runs[PARENT]
        held = artifacts.manifest(parent.tags)
        for name, content in self._wanted.files.items():
            try:
                digest = artifacts.digest(content)
            except OSError as error:  # it is gone: no store will ever have it
                _log.warning("MLflow: left out the file %s: %s", name, error.strerror)
                continue
            if held.get(name) == digest:
                continue
            artifacts.attach(self._opened.client, parent.run_id, name, content)
            self.sent.files += 1
            held[name] = digest
            tag = Value(TAG, artifacts.MANIFEST, artifacts.manifest_text(held))
            parent.write([tag], self._wanted.study, self._now_ms())

    def _now_ms(self) -> int:
        """Unix time, later than ever before: of two values of a metric, MLflow shows the one with the later time."""
        self._latest_ms = max(self._latest_ms + 1, time.time_ns() // 1_000_000)
        return self._latest_ms
