"""Ctrl-C, SIGTERM and SIGHUP: the run ends in order, and the process ends in time whatever it is doing.

Ctrl-C once ends what is measured, and the report is finished. Twice: it ends now, within seconds. A third time: at
once. SIGTERM (a scheduler, a container) and SIGHUP (the terminal is gone) are a first Ctrl-C with a deadline.

Two halves see each signal. A handler on the main thread raises it there, as soon as `autotune.interruption` lets it.
A thread watches the time: a handler does not run while the main thread is within a call that does not return, and what
it raises can be caught by anybody, so the deadline must not depend on it. C code writes each signal's number to the
thread's pipe as it arrives (`signal.set_wakeup_fd`).
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from autotune import interruption

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STOP = b"\0"  # no signal has this number


@contextmanager
def handled() -> Iterator[None]:
    """Signals are handled within.

    If there was one they are still handled afterwards, up to the process's end, since a deadline stands; no more is
    raised then. Whoever answers one may be cut off by the next, at any step: what is raised then ends here, since
    Python would answer it with a traceback and with a status of its own.

    What is ignored stays ignored, as `nohup` or a shell's background job wants it, and a handler that somebody has
    installed stays too. Off the main thread, which has all signals, nothing is done.

    Raises:
        SystemExit: for a `KeyboardInterrupt` that nobody has answered.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interruption.begin()
    taken = [one for one in _SIGNALS if signal.getsignal(one) in (signal.SIG_DFL, signal.default_int_handler)]
    watch = _Watch(taken)
    before = {one: signal.signal(one, lambda signum, _: interruption.arrive(signum)) for one in taken}
    try:
        yield
    except KeyboardInterrupt:
        interruption.leave()
        raise SystemExit(interruption.wish().status) from None
    finally:
        interruption.leave()
        if interruption.wish().asked:
            _flush()
        else:
            watch.stop()
            for one, handler in before.items():
                signal.signal(one, handler)


def exit_status(status: int) -> int:
    """How the process ends: as what terminated it wants it, or else as its run ended."""
    wish = interruption.wish()
    return status if wish.signum is None else wish.status


class _Watch:
    """A thread that ends the process when its time is over."""

    def __init__(self, signals: Collection[int]) -> None:
        self._signals = signals
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._write_fd, False)
        self._before = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        signal.set_wakeup_fd(self._before)
        os.write(self._write_fd, _STOP)
        self._thread.join()
        os.close(self._read_fd)
        os.close(self._write_fd)

    def _run(self) -> None:
        wish = interruption.Wish()  # of its own: the main thread's may be behind
        while not wish.at_once:
            left_s = None if wish.ends_s is None else max(0.0, wish.ends_s - time.monotonic())
            if not select.select([self._read_fd], [], [], left_s)[0]:
                break
            arrived = os.read(self._read_fd, 64)
            if _STOP in arrived:
                return
            for signum in arrived:
                if signum in self._signals:
                    wish.add(signum, time.monotonic())
        _end(wish)


def _end(wish: interruption.Wish) -> None:
    """The end of the process, from any thread. The record is on disk; its workers' guards end the workers."""
    try:
        if not wish.at_once and select.select([], [2], [], 0)[1]:  # a full pipe would hold up the end
            os.write(2, b"autotune: out of time; what was measured is in the record\n")
    finally:  # standard error may be closed
        os._exit(wish.status)


def _flush() -> None:
    """Python's own flush, as it ends, would make another exit status of a terminal that is gone."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
