"""A worker's own folder for temporary files: TensorFlow alone leaves one there for each function that it traces."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path


def make_scratch(otherwise: Path) -> Path | None:
    """A new folder in the system's place for them, else in `otherwise`; None if neither can be written.

    The system's is preferred because its path is short: a socket's, such as multiprocessing makes, must be.
    """
    for parent in (None, otherwise):
        with contextlib.suppress(OSError):
            return Path(tempfile.mkdtemp(prefix="autotune-worker-", dir=parent))
    return None
