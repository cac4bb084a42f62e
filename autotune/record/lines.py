"""The lines of a record's file: one JSON object each, with the event's kind, its time and its fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from cattrs import BaseValidationError

from autotune import codec
from autotune.errors import UserError
from autotune.record.events import FORMAT, Event, StudyResumed, StudyStarted

FILE_NAME = "record.jsonl"

_KINDS = {kind.__name__: kind for kind in get_args(Event)}


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number, counted from 1, and the study's running time when it was written [s]."""

    number: int
    at_s: float
    event: Event


def encode(event: Event, at_s: float = 0.0) -> str:
    """One line, without its end."""
    return json.dumps(
        {"event": type(event).__name__, "at_s": at_s, **codec.plain(event)},
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )


def decode(line: str) -> Event:
    """The event of one line.

    Raises:
        KeyError, ValueError, cattrs.BaseValidationError: not a line of this format.
    """
    return _restored(1, json.loads(line)).event


def read_lines(path: Path, *, older: bool = False) -> Iterator[Line]:
    """Every line of a record. A last one without its newline was cut by a crash and is left out.

    Args:
        path: the record's file.
        older: take those of older formats too, which hold less and no times: to be shown, not to be gone on with.

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
        if older:
            fields.setdefault("at_s", 0.0)
        if fields.get("event") == StudyStarted.__name__ and not _is_read(fields.get("format"), older):
            raise UserError(f"{path} has record format {fields.get('format')}, but this version reads {FORMAT}")
        try:
            yield _restored(number, fields)
        except (KeyError, TypeError, ValueError, BaseValidationError) as error:
            raise UserError(f"{where}: not a line of a study's record ({error})") from None


def _is_read(found: object, older: bool) -> bool:
    return found == FORMAT or (older and isinstance(found, int) and 1 <= found < FORMAT)


def standing(lines: Iterable[Line]) -> list[Line]:
    """The lines that count: without those that a later session superseded."""
    lines = list(lines)
    void = {number for line in lines if isinstance(line.event, StudyResumed) for number in line.event.superseded}
    return [line for line in lines if line.number not in void]


def start_of(lines: Iterable[Line], path: Path) -> StudyStarted:
    """How the study of a record began.

    Raises:
        UserError: it is none's, or that of a single training, which has no baseline and decides nothing.
    """
    started = next((line.event for line in lines if isinstance(line.event, StudyStarted)), None)
    if started is None:
        raise UserError(f"{path} is the record of no study: it has no start")
    if started.config.get("task") == "train":
        raise UserError(
            f"{path} is the record of no study but of a single training (task=train); name a study's folder"
        )
    return started


def read(path: Path) -> Iterator[Event]:
    """Every event of a record that counts.

    Raises:
        UserError: see `read_lines`.
    """
    for line in standing(read_lines(path)):
        yield line.event


def _restored(number: int, fields: dict[str, Any]) -> Line:
    kind, at_s = _KINDS[fields.pop("event")], float(fields.pop("at_s"))
    event: Event = codec.restore(kind, fields)
    return Line(number, at_s, event)
