"""How a worker's process comes to be: a fresh interpreter in a session of its own, with two pipes and a log."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from autotune.trust import granted
from autotune.worker.channel import Channel

# `-P` keeps the current folder from the front of the path, where a person's own `queue.py` would hide Python's. This
# package's home comes last: it matters only in a checkout that was never installed.
LAUNCH = (
    "import sys; sys.path.append(sys.argv[1])\n"
    "from autotune.trust import trusting\n"
    "from autotune.worker.child.main import leave, serve\n"
    "with trusting(sys.argv[4:]): serve(int(sys.argv[2]), int(sys.argv[3]))\n"
    "leave()"
)
_HOME = str(Path(__file__).resolve().parents[2])

# Variables that this program reads or sets for itself and that must not reach the worker.
_PRIVATE = ("HYDRA_FULL_ERROR",)


def spawn(launch: str, own: Mapping[str, str], log_path: Path) -> tuple[subprocess.Popen[bytes], Channel]:
    """A child process that runs `launch`, and the channel to it.

    Args:
        launch: Python text; its arguments are this package's home and the descriptors to read from and to write to.
        own: variables set for the child, on top of the parent's.
        log_path: file that takes the child's standard output and error.

    Raises:
        OSError: there is no process, or no descriptor, to be had.
    """
    to_child_read, to_child_write = os.pipe()
    from_child_read, from_child_write = os.pipe()
    inherited = {key: value for key, value in os.environ.items() if key not in _PRIVATE}
    try:
        with _opened(log_path) as log:
            popen = subprocess.Popen(
                [sys.executable, "-P", "-c", launch, _HOME, str(to_child_read), str(from_child_write), *granted()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**inherited, **own},
                pass_fds=(to_child_read, from_child_write),
                start_new_session=True,  # Ctrl-C is the parent's to handle, and the whole group can be ended
            )
    except OSError:
        os.close(to_child_write)
        os.close(from_child_read)
        raise
    finally:
        os.close(to_child_read)
        os.close(from_child_write)
    return popen, Channel(to_child_write, from_child_read)


def _opened(log_path: Path) -> IO[bytes]:
    """The log, or nowhere if it cannot be written: what a worker prints is not worth its measurements."""
    try:
        return log_path.open("ab")
    except OSError:
        return Path(os.devnull).open("ab")
