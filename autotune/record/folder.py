"""A run's folder, which goes again if the run turns out to be a person's mistake before anything was measured."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType

from autotune.errors import UserError


class RunFolder:
    """Removes the folder on a `UserError` or Ctrl-C, unless `keep` was called. A context manager.

    Args:
        path: the folder, just made for this run alone.
        root: parents are removed as well, up to and with this one, where nothing else is in them.
    """

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self._root = root
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
        shutil.rmtree(self.path, ignore_errors=True)
        folder = self.path.parent
        while folder == self._root or self._root in folder.parents:
            try:
                folder.rmdir()
            except OSError:  # somebody else's runs are in it
                return
            folder = folder.parent
