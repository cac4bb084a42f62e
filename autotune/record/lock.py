"""One session of a study at a time, and how long it has run even if it is killed."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from autotune.errors import ConfigError, UserError

FILE_NAME = ".session"

# What a kill can cost at most of what the study has taken by its own count.
_BEAT_S = 2.0


class SessionLock:
    """Held while a session of a study runs; the kernel lets go of it when the process ends. A context manager.

    Its file goes when the session ends by itself; one that was killed leaves it, with how long the study had run.

    Args:
        folder: the run's.
        elapsed: how long the study has run, over all its sessions [s].

    Raises:
        ConfigError: another process holds it.
        UserError: its file cannot be made there.
    """

    def __init__(self, folder: Path, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._path = folder / FILE_NAME
        try:
            self._file = _locked(folder)
        except OSError as error:
            raise UserError(
                f"a session in {folder} needs to write there, but cannot: {error.strerror}; mend that, or go on in a"
                " copy of the folder"
            ) from error
        self._ended = threading.Event()
        self._beat()
        self._thread = threading.Thread(target=self._run, name="session", daemon=True)
        self._thread.start()

    def __enter__(self) -> SessionLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _run(self) -> None:
        while not self._ended.wait(_BEAT_S):
            self._beat()

    def _beat(self) -> None:
        text = json.dumps({"pid": os.getpid(), "elapsed_s": round(self._elapsed(), 1)}).ljust(80) + "\n"
        with contextlib.suppress(OSError):  # a full disk is the record's to notice
            os.pwrite(self._file, text.encode(), 0)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep sessions of the study out for a while; what a killed one left of itself stays.

    Raises:
        ConfigError: one is running.
    """
    left = (folder / FILE_NAME).exists()
    file = _locked(folder)
    try:
        yield
    finally:
        if not left:
            (folder / FILE_NAME).unlink(missing_ok=True)
        os.close(file)


def was_killed(folder: Path) -> bool:
    """Whether the last session did not end by itself: one that does takes its file with it."""
    return (folder / FILE_NAME).exists()


def _locked(folder: Path) -> int:
    """A descriptor of the locked file."""
    path = folder / FILE_NAME
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _read(folder).get("pid")
            os.close(file)
            raise ConfigError(f"the study in {folder} is running (process {pid}); wait for it, or stop it") from None
        except OSError:
            return file  # a file system without locks: nobody is kept out, and nothing else is missing
        if _is_file(path, file):
            return file
        os.close(file)  # its session ended between the two calls, and took the file with it


def _is_file(path: Path, file: int) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(file))
    return False


def last_beat_s(folder: Path) -> float:
    """How long the study had run when its last session was last seen alive [s]; 0 if that is not known."""
    elapsed_s = _read(folder).get("elapsed_s", 0.0)
    return float(elapsed_s) if isinstance(elapsed_s, (int, float)) else 0.0


def _read(folder: Path) -> dict[str, object]:
    try:
        found = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
