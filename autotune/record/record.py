"""Writing and reading the record: JSON lines, appended and flushed to disk before any sink hears of them."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, get_args

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
        self._file = path.open("a", encoding="utf-8")
        self._sinks = list(sinks)
        self.view = StudyView()

    def append(self, event: Event) -> None:
        """Write one event, force it to disk, then tell the sinks."""
        self._file.write(encode(event) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.view.apply(event)
        for sink in tuple(self._sinks):
            self._tell(sink, lambda sink=sink: sink.on_event(event))  # type: ignore[misc]

    def close(self) -> None:
        """Close the sinks, then the file."""
        for sink in tuple(self._sinks):
            self._tell(sink, sink.close)
        self._file.close()

    def _tell(self, sink: Sink, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 (a sink observes and never influences)
            _log.warning("%s stopped recording: %s", sink.name, " ".join(str(error).split())[:300])
            self._sinks.remove(sink)
            self.append(SinkFailed(sink=sink.name, message=f"{type(error).__name__}: {error}"[:2000]))


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
    fields = json.loads(line)
    kind = _KINDS[fields.pop("event")]
    event: Event = codec.restore(kind, fields)
    return event


def read(path: Path) -> Iterator[Event]:
    """Every event of a record. A last line without its newline was cut by a crash and is left out.

    Raises:
        UserError: no such record, another format, or a damaged line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read the record {path}: {error.strerror}") from None
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1], start=1):
        try:
            event = decode(line)
        except (KeyError, TypeError, ValueError, BaseValidationError) as error:
            raise UserError(f"{path}, line {number}: not a line of a study's record ({error})") from None
        if isinstance(event, StudyStarted) and event.format != FORMAT:
            raise UserError(f"{path} has record format {event.format}, but this version reads {FORMAT}")
        yield event
