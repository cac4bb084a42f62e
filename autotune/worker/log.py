"""What workers print: one file of bounded size, of which the end is what matters."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

MOST_BYTES = 16 << 20
KEPT_BYTES = 4 << 20
_LAST_WORDS_BYTES = 2000


def trim(path: Path) -> None:
    """Leave only the end of a log that has grown too long; a log that cannot be trimmed is left as it is.

    Workers hold the file open for appending, so it is cut in place and what they write next follows. What they write in
    the moment of cutting may be lost.
    """
    with contextlib.suppress(OSError):
        size = path.stat().st_size
        if size <= MOST_BYTES:
            return
        kept = _end(path, KEPT_BYTES).partition(b"\n")[2]
        os.truncate(path, 0)
        with path.open("ab") as log:
            log.write(b"[%d bytes of output are left out here]\n" % (size - len(kept)) + kept)


def last_words(path: Path, since_byte: int = 0) -> str:
    """The end of the log as text; of what was written after `since_byte`, if the log is longer than that.

    Empty where there is no log.
    """
    with contextlib.suppress(OSError):
        new = path.stat().st_size - since_byte
        most = min(_LAST_WORDS_BYTES, new) if new >= 0 else _LAST_WORDS_BYTES  # it was trimmed meanwhile
        return _end(path, most).decode("utf-8", "replace").strip()
    return ""


def _end(path: Path, most: int) -> bytes:
    with path.open("rb") as log:
        log.seek(-min(most, log.seek(0, os.SEEK_END)), os.SEEK_END)
        return log.read(most)
