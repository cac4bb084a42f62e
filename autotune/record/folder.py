"""A run's folder, which goes again if the run turns out to be a person's mistake before anything was measured."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType

from autotune.errors import UserError
from autotune.interruption import held


class RunFolder:
    """Removes the folder on a `UserError` or Ctrl-C, unless `keep` was called. A context manager.

    Args:
        path: the folder, just made for this run alone.
        standing: a folder above it that was there before; empty folders between the two are removed as well.
    """

    def __init__(self, path: Path, standing: Path) -> None:
        self.path = path
        self._standing = standing
        self._kept = False

    def keep(self) -> None:
        """From now on there is something in it worth keeping."""
        self._kept = True

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._kept or not isinstance(error, (UserError, KeyboardInterrupt)):
            return
        with held():  # a second Ctrl-C would leave half of it
            self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        folder = self.path.parent
        while self._standing in folder.parents:
            try:
                folder.rmdir()
            except OSError:  # somebody else's runs are in it
                return
            folder = folder.parent
