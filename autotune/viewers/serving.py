"""A server for a browser: started, waited for, shown where there is a screen, and ended with all that it started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable, Sequence

from autotune.errors import UserError

READY_S = 300.0  # MLflow takes 10 s on two idle cores, and minutes where a study is measured beside it
_LOOK_S = 0.2
_END_S = 5.0


HOST = "127.0.0.1"


def require_free(port: int) -> None:
    """Refuse a port on which something answers already, which would be taken for the server that is started.

    Nor may it be 0, which stands for any that is free: nobody would know which one to wait for.

    Raises:
        UserError: naming the port.
    """
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that ended a moment ago is no hindrance
        try:
            if port == 0:
                raise OSError("it stands for any that is free")
            tried.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise UserError(
                f"port {port} cannot be listened on ({error}): choose another with --port, or with PORT= after make"
            ) from None


def serve(command: Sequence[str], address: str, ready: Callable[[], None]) -> int:
    """Run a server until it ends or Ctrl-C ends it.

    Args:
        command: starts it, in a process group of its own.
        address: answers once it is ready.
        ready: called then.

    Returns:
        0 after Ctrl-C, SIGTERM or SIGHUP, else the server's own exit status.

    Raises:
        UserError: it ends, or does not answer, before it is ready.
    """
    before = {number: signal.signal(number, _as_ctrl_c) for number in (signal.SIGTERM, signal.SIGHUP)}
    process = subprocess.Popen(command, start_new_session=True)
    try:
        _wait(process, address)
        ready()
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        _end(process)
        for number, handler in before.items():
            signal.signal(number, handler)


def show(address: str) -> bool:
    """Open an address in the browser of whoever sits here; whether that was possible. A text browser is none."""
    screen = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    try:
        return bool(screen) and webbrowser.open(address)
    except webbrowser.Error:
        return False


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    until_s = time.monotonic() + READY_S
    while time.monotonic() < until_s:
        if process.poll() is not None:
            raise UserError(f"the server ended before it answered (exit status {process.returncode}): see above")
        if _answers(address):
            return
        time.sleep(_LOOK_S)
    raise UserError(f"the server did not answer at {address} within {READY_S:.0f} s")


def _answers(address: str) -> bool:
    try:
        # No proxy: it would answer for a server that is not there yet, or not find the one that is.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=2):
            return True
    except urllib.error.HTTPError:
        return True  # something answers, and a browser shows what
    except OSError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)  # the server's own workers, too
        except ProcessLookupError:
            return
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            continue


def _as_ctrl_c(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
