"""Writing and reading the record: JSON lines, appended and flushed to disk before any sink hears of them."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, get_args

from cattrs import BaseValidationError

from autotune import codec
from autotune.errors import UserError
from autotune.record.events import FORMAT, Event, SinkFailed, StudyStarted
from autotune.record.view import StudyView

FILE_NAME = "record.jsonl"

_KINDS = {kind.__name__: kind for kind in get_args(Event)}
_log = logging.getLogger(__name__)


class Sink(Protocol):
    """Something that is told of every event, after it is on disk."""

    name: str

    def on_event(self, event: Event) -> None:
        """Take one event. Whatever it raises is noted; the study goes on without this sink."""

    def close(self) -> None:
        """The study has ended, in whatever way."""


class Record:
    """The append-only record of one study.

    Args:
        path: the file; its folder must exist.
        sinks: told of each event in this order, after it is durable.

    Attributes:
        view: the study's state, folded from what was written through this object.
    """

    def __init__(self, path: Path, sinks: Sequence[Sink] = ()) -> None:
        self.path = path
        _drop_cut_line(path)
        # A path may hold bytes that are no text; they must not end a study.
        self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        self._sinks = list(sinks)
        self.view = StudyView()

    def append(self, event: Event) -> None:
        """Write one event, force it to disk, then tell the sinks; one that raises is dropped and noted."""
        waiting = [event]
        while waiting:
            event = waiting.pop(0)
            self._file.write(encode(event) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            self.view.apply(event)
            for sink in tuple(self._sinks):
                if (failed := _failure(sink, partial(sink.on_event, event))) is not None:
                    self._sinks.remove(sink)
                    with contextlib.suppress(Exception):  # it has failed already; it may still free what it holds
                        sink.close()
                    waiting.append(failed)

    def close(self) -> None:
        """Close the sinks, in their order, then the file."""
        while self._sinks:
            sink = self._sinks.pop(0)
            if (failed := _failure(sink, sink.close)) is not None:
                self.append(failed)
        self._file.close()


def _failure(sink: Sink, call: Callable[[], None]) -> SinkFailed | None:
    """What went wrong in a sink, which observes and never influences."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 (whatever it is, the study goes on)
        _log.warning("%s stopped recording: %s", sink.name, " ".join(str(error).split())[:300])
        return SinkFailed(sink=sink.name, message=f"{type(error).__name__}: {error}"[:2000])
    return None


def _drop_cut_line(path: Path) -> None:
    """A last line without its newline was cut by a crash: what follows must not be glued to it."""
    if path.exists():
        whole = path.read_bytes()
        if not whole.endswith(b"\n"):
            with path.open("r+b") as file:
                file.truncate(whole.rfind(b"\n") + 1)


def encode(event: Event) -> str:
    """One line: the event's kind and its fields."""
    return json.dumps(
        {"event": type(event).__name__, **codec.plain(event)},
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )


def decode(line: str) -> Event:
    """The event of one line.

    Raises:
        KeyError, ValueError, cattrs.BaseValidationError: not a line of this format.
    """
    return _restore(json.loads(line))


def _restore(fields: dict[str, Any]) -> Event:
    kind = _KINDS[fields.pop("event")]
    event: Event = codec.restore(kind, fields)
    return event


def read(path: Path) -> Iterator[Event]:
    """Every event of a record. A last line without its newline was cut by a crash and is left out.

    Raises:
        UserError: no such record, another format, or a damaged line.
    """
    try:
        whole = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read the record {path}: {error.strerror}") from None
    # Lines are split before they are decoded: a crash may have cut the last one within a character.
    for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
        where = f"{path}, line {number}"
        try:
            fields = json.loads(line)
            if not isinstance(fields, dict):
                raise TypeError("not an object")
        except (TypeError, ValueError) as error:
            raise UserError(f"{where}: not a line of a study's record ({error})") from None
        if fields.get("event") == StudyStarted.__name__ and fields.get("format") != FORMAT:
            raise UserError(f"{path} has record format {fields.get('format')}, but this version reads {FORMAT}")
        try:
            yield _restore(fields)
        except (KeyError, TypeError, ValueError, BaseValidationError) as error:
            raise UserError(f"{where}: not a line of a study's record ({error})") from None
