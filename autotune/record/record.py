"""Writing the record: JSON lines, appended and flushed to disk before any sink hears of them."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar, cast

from autotune import interruption
from autotune.errors import UserError
from autotune.record.clock import StudyClock
from autotune.record.events import Event, SinkFailed
from autotune.record.lines import Line, encode
from autotune.record.tape import Resumed
from autotune.record.view import StudyView

E = TypeVar("E", bound=Event)

# Of a second: what the study decides rests on this figure, which a later session reads back.
_DIGITS = 3

_log = logging.getLogger(__name__)


class Sink(Protocol):
    """Something that is told of every event, after it is on disk."""

    name: str

    def on_event(self, event: Event) -> None:
        """Take one event. Whatever it raises is noted; the study goes on without this sink."""

    def on_replayed(self, event: Event, at_s: float) -> None:
        """Take one event of an earlier session, which a sink of that session may have taken already.

        Args:
            at_s: the study's running time when it was recorded [s].
        """

    def close(self) -> None:
        """The study has ended, in whatever way."""


class Record:
    """The append-only record of one study.

    Args:
        path: the file; its folder must exist.
        sinks: told of each event in this order, after it is durable.
        clock: how long the study has run, over all its sessions [s].
        resumed: what earlier sessions recorded, and how this one is told that it goes on; None for a new study.

    Attributes:
        view: the study's state, folded from what stands.
        elapsed_s: the study's running time at the latest event [s]. What a study decides rests on this and not on a
            clock, so that a later session decides alike.
        lost_s: the part of it that went by between sessions, in which nothing was measured that counts [s].
    """

    def __init__(
        self,
        path: Path,
        sinks: Sequence[Sink] = (),
        clock: Callable[[], float] | None = None,
        resumed: Resumed | None = None,
    ) -> None:
        self.path = path
        _drop_cut_line(path)
        # A path may hold bytes that are no text; they must not end a study.
        self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        self._sinks = list(sinks)
        self._clock = clock or StudyClock()
        self._resumed = resumed
        self._live = resumed is None
        self._later: list[Event] = []  # what happens beside the study before there is anything new to record
        # Sessions do not happen again, so that the tape does not hand them out.
        self.view = StudyView(resumptions=list(resumed.tape.resumptions) if resumed is not None else [])
        self.elapsed_s = 0.0
        self.lost_s = 0.0

    def append(self, event: E) -> E:
        """Write one event, force it to disk, then tell the sinks; one that raises is dropped and noted.

        Returns:
            The event that stands: the one of an earlier session where this happened then.
        """
        found = self._resumed.tape.take(event) if self._resumed is not None else None
        if found is None:
            self._go_live()
            self._write(event)
            return event
        line, void = found
        recorded = cast("E", line.event)
        if void:
            self._go_live()
            self._write(recorded)
            return recorded
        assert self._resumed is not None
        for again in (*self._resumed.tape.asides_before(line.number), line):
            self._replay(again)
        return recorded

    def aside(self, event: Event) -> None:
        """Write what happened beside the study's own code; while earlier sessions are replayed it waits for their end.

        What is known from them already is not written again.
        """
        if self._live:
            self._write(event)
        elif self._resumed is not None and not self._resumed.tape.knows(event):
            self._later.append(event)

    def _replay(self, line: Line) -> None:
        assert self._resumed is not None
        self.elapsed_s = max(self.elapsed_s, line.at_s)
        self.lost_s = self._resumed.tape.lost_s(line.number)
        self.view.apply(line.event)
        self._later += self._tell(lambda sink: sink.on_replayed(line.event, line.at_s))

    def _go_live(self) -> None:
        """From here on there is something new: say so, and what of the earlier lines no longer counts."""
        if self._live:
            return
        self._live = True
        assert self._resumed is not None
        before_s = self.elapsed_s
        self._write(self._resumed.event())
        self.lost_s += self.elapsed_s - before_s
        while self._later:
            self._write(self._later.pop(0))

    def _write(self, event: Event) -> None:
        waiting = [event]
        while waiting:
            event = waiting.pop(0)
            with interruption.held():  # file and view do not part
                self.elapsed_s = max(self.elapsed_s, round(self._clock(), _DIGITS))
                self._put(encode(event, self.elapsed_s) + "\n")
                self.view.apply(event)
            waiting += self._tell(_telling(event))

    def _put(self, line: str) -> None:
        """Force a line to disk.

        Raises:
            UserError: it does not take it, such as a full one. What is there stands, and a later session goes on.
        """
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise UserError(
                f"the record {self.path} cannot be written: {error.strerror}; mend that, then go on with"
                " study.resume=true"
            ) from error

    def _tell(self, call: Callable[[Sink], None]) -> list[SinkFailed]:
        """Tell every sink; those that fail are dropped, and returned as events."""
        failures = []
        for sink in tuple(self._sinks):
            if (failed := _failure(sink, partial(call, sink))) is not None:
                self._sinks.remove(sink)
                with contextlib.suppress(Exception):  # it has failed already; it may still free what it holds
                    sink.close()
                failures.append(failed)
        return failures

    def close(self) -> None:
        """Close the sinks, in their order, then the file."""
        while self._sinks:
            sink = self._sinks.pop(0)
            if (failed := _failure(sink, sink.close)) is not None:
                self._write(failed)
        with contextlib.suppress(OSError):  # a full disk: what is waiting there was told of already
            self._file.close()


def _telling(event: Event) -> Callable[[Sink], None]:
    return lambda sink: sink.on_event(event)


def _failure(sink: Sink, call: Callable[[], None]) -> SinkFailed | None:
    """What went wrong in a sink, which observes and never influences."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 (whatever it is, the study goes on)
        _log.warning("%s did not take everything: %s", sink.name, " ".join(str(error).split())[:1000])
        return SinkFailed(sink=sink.name, message=f"{type(error).__name__}: {error}"[:2000])
    return None


def _drop_cut_line(path: Path) -> None:
    """A last line without its newline was cut by a crash: what follows must not be glued to it."""
    if path.exists():
        whole = path.read_bytes()
        if not whole.endswith(b"\n"):
            with path.open("r+b") as file:
                file.truncate(whole.rfind(b"\n") + 1)
