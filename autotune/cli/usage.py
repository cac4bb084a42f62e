"""What `--help` adds to Hydra's template, and the look into a person's own folder of groups."""

from __future__ import annotations

import re
import textwrap
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from autotune.errors import ConfigError

WIDTH = 100
_GROUP = re.compile(r"(?P<group>[\w/]+): (?P<choices>[\w.-]+(?:, [\w.-]+)*)")


def reflow(text: str, width: int = WIDTH) -> str:
    """Indent and wrap the lines that list a group's choices; `hw` alone has forty."""
    lines: list[str] = []
    for line in text.splitlines():
        match = _GROUP.fullmatch(line)
        if match is None:
            lines.append(line)
            continue
        lines += textwrap.wrap(
            match["choices"],
            width,
            initial_indent=f"  {match['group'] + '=':<12}",
            subsequent_indent=" " * 14,
            break_on_hyphens=False,
        )
    return "\n".join(lines).rstrip() + "\n"


def refuse_hidden(config_dir: Path) -> None:
    """Refuse a folder with a file that a built-in one of the same name would hide.

    Raises:
        ConfigError: naming the first such file.
    """
    built_in = files("autotune.conf")
    if isinstance(built_in, Path) and built_in.samefile(config_dir):
        return
    for name in _yaml_names(built_in):
        if (config_dir / name).is_file():
            raise ConfigError(
                f"{config_dir / name} would be hidden by the built-in {name}; rename your file, "
                "and choose it by its new name"
            )


def _yaml_names(folder: Traversable, prefix: str = "") -> list[str]:
    names: list[str] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            names += _yaml_names(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".yaml"):
            names.append(prefix + entry.name)
    return sorted(names)
