"""The folder of one run: made when the run begins, never shared, never overwritten."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import count
from pathlib import Path

from autotune.config.locations import already_there
from autotune.config.schema import Config
from autotune.errors import ConfigError

_LONGEST_NAME = 60
_LONGEST_NAME_BYTES = 100
"""Two names, the time and a number make the folder's, which may have 255 bytes."""


def claim_output_dir(config: Config, now: datetime, model: str, hw: str) -> Path:
    """Make and return this run's folder, which nobody else has.

    It is `<root>/<date>/<time>_<model>_<hw>`, with `_2`, `_3` and so on when several runs start in the same second;
    with `output.name`, `<root>/<name>`.

    Args:
        config: the configuration; `output.root` is absolute.
        now: when the run began, in the time zone that the folder's name shall have.
        model: the model's name.
        hw: the target's name.

    Raises:
        ConfigError: the folder cannot be made, or the one that `output.name` names exists.
    """
    root = Path(config.output.root)
    try:
        if config.output.name is not None:
            root.mkdir(parents=True, exist_ok=True)
            return _claim_named(root / config.output.name)
        day = root / now.strftime("%Y-%m-%d")
        day.mkdir(parents=True, exist_ok=True)
        return _claim_unique(day, f"{now:%H-%M-%S}_{safe_name(model)}_{safe_name(hw)}")
    except OSError as error:
        raise ConfigError(
            f"output.root must be a folder that can be written, but got {config.output.root!r} "
            f"({error.strerror or error}); choose another place with output.root=..."
        ) from error


def safe_name(text: str) -> str:
    """`text` as part of a file name on any system: letters, digits, `.`, `_`, `+` and `-`, not too long."""
    plain = re.sub(r"[^\w.+-]+", "-", text).strip("-.")[:_LONGEST_NAME]
    return plain.encode()[:_LONGEST_NAME_BYTES].decode(errors="ignore") or "unnamed"


def _claim_named(folder: Path) -> Path:
    try:
        folder.mkdir()
    except FileExistsError:
        raise ConfigError(already_there(folder)) from None
    return folder


def _claim_unique(parent: Path, name: str) -> Path:
    """`mkdir` is atomic: of several processes that try the same name, one gets it."""
    for number in count(1):
        folder = parent / (name if number == 1 else f"{name}_{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise AssertionError("count() does not end")
