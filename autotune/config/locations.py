"""Paths in the configuration: absolute from here on, so that no record depends on the working directory."""

from __future__ import annotations

import os
import re
from pathlib import Path

from autotune.config.checks import require
from autotune.config.schema import Config
from autotune.errors import ConfigError

LONGEST_NAME_BYTES = 255
"""Of one file or folder, in every common file system (NAME_MAX in Linux's limits.h)."""

_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)(.+)")


def make_absolute(config: Config, cwd: Path) -> None:
    """Rewrite every relative path of `config` against `cwd`; `~` is the home folder."""
    config.output.root = _absolute(config.output.root, cwd)
    if config.study.folder is not None:
        config.study.folder = _absolute(config.study.folder, cwd)
    if config.data.dir is not None:
        config.data.dir = _absolute(config.data.dir, cwd)
    path = config.data.args.get("path")
    if isinstance(path, str):
        config.data.args["path"] = _absolute(path, cwd)
    if config.tracking.uri is not None:
        config.tracking.uri = _absolute_uri(config.tracking.uri, cwd)


def check_output(config: Config) -> None:
    """Refuse an output folder that cannot be made, before anything is measured.

    Raises:
        ConfigError: the root is a file or not writable, or the named folder exists or is no plain name.
    """
    root = Path(config.output.root)
    try:
        existing = next(path for path in (root, *root.parents) if path.exists())
    except OSError as error:  # a folder above that may not be looked into, a name that is too long
        raise ConfigError(
            f"output.root must be a folder that can be made, but got {str(root)!r} ({error.strerror});"
            " choose another place with output.root=..."
        ) from None
    require(
        existing.is_dir(),
        "output.root must be a folder",
        str(existing),
        "that is a file; choose another place",
    )
    require(
        os.access(existing, os.W_OK | os.X_OK),
        "output.root must be writable",
        str(existing),
        "choose another place with output.root=...",
    )
    name = config.output.name
    if name is None:
        return
    require(
        name not in ("", ".", "..") and name.isprintable() and not set(name) & set("/\\"),
        "output.name must be the name of one folder, not a path",
        name,
        "set output.root for the place",
    )
    require(
        len(os.fsencode(name)) <= LONGEST_NAME_BYTES,
        f"output.name must be at most {LONGEST_NAME_BYTES} bytes long",
        f"{name[:20]}... ({len(os.fsencode(name)):,} bytes)",
    )
    if os.path.lexists(root / name) and config.study.resume == "false":
        raise ConfigError(already_there(root / name))


def already_there(folder: Path) -> str:
    """What to say of a named output folder that exists: earlier results are never overwritten."""
    return f"output.name must be new, but {str(folder)!r} exists; choose another name or leave it null for a unique one"


def _absolute(path: str, cwd: Path) -> str:
    require(bool(path.strip()), "a path in the configuration must not be empty", path, "remove it")
    # A path ends up in commands that people paste, where a second line would be a second command.
    require(path.isprintable(), "a path in the configuration must be one line of printable characters", path)
    try:
        return os.path.normpath(cwd / Path(path).expanduser())
    except RuntimeError:  # ~somebody
        raise ConfigError(
            f"a path in the configuration must not begin with an unknown home folder, but got {path!r}; write it out"
        ) from None


def _absolute_uri(uri: str, cwd: Path) -> str:
    match = _SQLITE.fullmatch(uri)
    if match is None or match[2].startswith(":memory:"):
        return uri
    path, question, query = match[2].partition("?")
    return match[1] + _absolute(path, cwd) + question + query
