"""Hydra's repository of configuration files, without the copies that it makes, and with an eye on whose files they are.

Hydra copies the repository before each question that it asks, and with it every schema that is registered, some 90
times for `--help`: half a second. What is copied for is that a copy may take on another search path.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Any

from hydra._internal.config_repository import ConfigRepository
from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.config_source import ConfigResult

_HYDRAS_OWN = ("pkg://hydra.conf", "structured://")


class Repository(ConfigRepository):
    """Configuration files of one search path.

    Args:
        search_path: where they are.
        built_in: the package of ours among these places, as Hydra is told.

    Attributes:
        foreign: names of files that were read and are neither Hydra's nor ours; its copies add to it.
    """

    def __init__(self, search_path: ConfigSearchPath, built_in: str) -> None:
        super().__init__(search_path)
        self.foreign: set[str] = set()
        self._built_in: Collection[str] = (*_HYDRAS_OWN, built_in)

    def __deepcopy__(self, memo: dict[int, Any]) -> Repository:
        """Sources hand out a new configuration at each call, and another search path makes new sources."""
        return copy.copy(self)

    def load_config(self, config_path: str) -> ConfigResult | None:
        """As Hydra's; notes whose the file is."""
        found = super().load_config(config_path)
        if found is not None and (found.path not in self._built_in or not stays_below(config_path)):
            self.foreign.add(config_path)
        return found


def stays_below(config_path: str) -> bool:
    """Whether a name leads to nothing outside the place where it is looked up, as `model/../../../mine` does.

    Windows takes a backslash for a slash, and what ends in a colon for a drive.
    """
    path = PurePosixPath(config_path)
    return not path.is_absolute() and ".." not in path.parts and not {"\\", ":"} & set(config_path)
