"""MLflow's SQLite file: made whole or not at all, and by one process at a time."""

from __future__ import annotations

import fcntl
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from autotune.errors import TrackingError

LOCK_WAIT_S = 60.0  # the migrations of a new database take 5 s on a small machine; several processes may queue
BUSY_WAIT_S = 5.0  # SQLite's own default wait for another writer


@contextmanager
def alone(database: Path) -> Iterator[None]:
    """Hold the database's lock file, with the database known to be writable and to be no empty file.

    Two first uses of one SQLite file at once both run MLflow's migrations and one of them fails, so a lock file
    beside the database lets one process (and one thread) in at a time.

    Raises:
        TrackingError: another process holds it for too long, or the database cannot be written.
    """
    database.parent.mkdir(parents=True, exist_ok=True)
    with database.with_name(database.name + ".lock").open("a") as lock:
        _lock(lock.fileno(), database)
        _check_writable(database)
        if is_empty(database):
            _make(database)
        yield


def is_empty(database: Path) -> bool:
    """Whether nothing was ever written to it."""
    return not database.exists() or database.stat().st_size == 0


def is_half_made(database: Path) -> bool:
    """Whether its tables hold not even the experiment that MLflow makes last, as after a kill in its migrations."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True, timeout=BUSY_WAIT_S)) as found:
            return found.execute("SELECT 1 FROM experiments UNION ALL SELECT 1 FROM runs").fetchone() is None
    except sqlite3.Error:  # it has no such tables: it may be anybody's
        return False


def _lock(descriptor: int, database: Path) -> None:
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TrackingError(
                    f"another process has been preparing {database} for over {LOCK_WAIT_S:.0f} s"
                ) from None
            time.sleep(0.1)
        else:
            return


def _check_writable(database: Path) -> None:
    # MLflow retries a database that cannot be opened for half an hour; this asks once.
    try:
        with closing(sqlite3.connect(database, timeout=BUSY_WAIT_S)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            [version] = connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA user_version = {version}")  # a read-only file is noticed by writing only
            connection.rollback()
    except sqlite3.Error as error:
        raise TrackingError(f"cannot write the MLflow store {database}: {error}") from None


def _make(database: Path) -> None:
    """Have MLflow make its tables in a file of its own, and copy that into the database in one transaction.

    Its migrations take seconds, and what a kill or a full disk in the middle of them leaves is refused ever after.
    """
    new = database.with_name(database.name + ".new")
    _remove(new)  # left behind by a process that was killed
    try:
        _migrate(new)
        if is_empty(database):  # else somebody was faster who knows nothing of the lock, such as MLflow's own server
            with closing(sqlite3.connect(new)) as made, closing(sqlite3.connect(database)) as target:
                made.backup(target)
    finally:
        _remove(new)


def _migrate(new: Path) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    make: Callable[[str, str], Any] = SqlAlchemyStore
    made = make(f"sqlite:///{new}", "mlruns")  # as by default: for artifacts of the experiment that is none of ours
    made.engine.dispose()


def _remove(new: Path) -> None:
    for end in ("", "-journal", "-wal", "-shm"):
        new.with_name(new.name + end).unlink(missing_ok=True)
