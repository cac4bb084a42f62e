"""A wish from outside that this process ends: when it reaches the code, and how long what follows may take.

Nothing is installed here: `autotune.cli.signals` tells of every signal, and whoever must not be torn apart, or could
wait for long, asks this module. Without a signal all of it does nothing.

    with held():            a few milliseconds that must be done whole, such as a line of the record
    with finishing():       what Ctrl-C should still get, such as the report; a second one gets through
    at_most(45.0)           how long to wait for somebody else, now that there may be a deadline

A wish is an exception in the main thread, derived from `KeyboardInterrupt`, so that whatever handles Ctrl-C handles the
others too. Raised by a signal handler it can come between any two steps of the interpreter, and so also within a
`finally`; within a section it waits for the section's end.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType

TERMINATION_S = 8.0
"""From SIGTERM or SIGHUP to the end [s]. Of those who send SIGTERM first, `docker stop` waits least: 10 s."""

STOP_NOW_S = 3.0
"""From a second Ctrl-C to the end [s]."""

# Kept from whoever asks, for what comes after: closing files, the interpreter's own end.
_RESERVE_S = 1.0


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: the same as Ctrl-C, with a deadline."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"ended by {signal.Signals(signum).name}")


@dataclass(slots=True)
class Wish:
    """What was asked for so far, by signals in their order.

    Attributes:
        asked: that the run ends, with its report.
        now: that it ends without waiting for anything.
        at_once: that the process ends.
        signum: the signal that terminates, if one came; a second one, as some schedulers send it, changes nothing.
        ends_s: when the process ends at the latest, on the monotonic clock [s].
    """

    asked: bool = False
    now: bool = False
    at_once: bool = False
    signum: int | None = None
    ends_s: float | None = None

    def add(self, signum: int, at_s: float) -> None:
        """One more signal, at this time on the monotonic clock [s]."""
        if signum == signal.SIGINT:
            self.at_once, self.now = self.at_once or self.now, self.now or self.asked
            if self.now:
                self._end_by(at_s + STOP_NOW_S)
        elif self.signum is None:
            self.signum = signum
            self._end_by(at_s + TERMINATION_S)
        self.asked = True

    @property
    def status(self) -> int:
        """The exit status: 128 and the signal's number, as shells have it."""
        return 128 + (self.signum or signal.SIGINT)

    def _end_by(self, at_s: float) -> None:
        self.ends_s = at_s if self.ends_s is None else min(self.ends_s, at_s)


class _Delivery:
    """Whether a wish is raised in the main thread now, or later. Only the main thread changes it."""

    def __init__(self) -> None:
        self.wish = Wish()
        self.open = {"held": 0, "finishing": 0}
        self._waiting: KeyboardInterrupt | None = None

    def arrive(self, signum: int) -> None:
        asked_before = self.wish.asked
        self.wish.add(signum, time.monotonic())
        if asked_before and signum != signal.SIGINT:
            return  # whoever is ending already has a deadline now, and is not disturbed
        self._waiting = KeyboardInterrupt() if signum == signal.SIGINT else Terminated(signum)
        self.deliver()

    def deliver(self) -> None:
        if self.open["held"] or (self.open["finishing"] and not self.wish.now):
            return
        error, self._waiting = self._waiting, None
        if error is not None:
            raise error


_delivery = _Delivery()


class _Section:
    """A handler raises nothing while a section holds it, so there is no moment at which one could be left open."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __enter__(self) -> None:
        if _in_main_thread():
            _delivery.open[self._kind] += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _in_main_thread():
            _delivery.open[self._kind] -= 1
            _delivery.deliver()


def held() -> AbstractContextManager[None]:
    """What must not be torn apart, for milliseconds: a signal is raised at its end. Nothing gets through."""
    return _Section("held")


def finishing() -> AbstractContextManager[None]:
    """What is still done after a first signal, which is raised at its end; a second Ctrl-C is raised within it."""
    return _Section("finishing")


def remaining_s() -> float | None:
    """How long what follows may take, all of it together [s]; None: nobody is waiting for the end."""
    ends_s = _delivery.wish.ends_s
    return None if ends_s is None else max(0.0, ends_s - _RESERVE_S - time.monotonic())


def at_most(limit_s: float) -> float:
    """A time limit, cut to what remains [s]. A wait that began without a deadline asks again now and then."""
    left_s = remaining_s()
    return limit_s if left_s is None else min(limit_s, left_s)


def wish() -> Wish:
    """What was asked for so far."""
    return _delivery.wish


def arrive(signum: int) -> None:
    """A signal has come; for its handler, on the main thread.

    Raises:
        KeyboardInterrupt: at once, where no section holds it.
    """
    _delivery.arrive(signum)


def leave() -> None:
    """Nothing is left but to leave: no signal is raised any more."""
    _delivery.open["held"] += 1


def begin() -> None:
    """Forget what was asked of an earlier run in this process."""
    global _delivery  # noqa: PLW0603 (signals are the process's, and so is this)
    _delivery = _Delivery()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
