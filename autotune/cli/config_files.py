"""Configuration files, looked at before Hydra reads them.

YAML says more in a few lines than any program can hold: nine aliases of nine aliases, nine times over, are a billion
entries ("billion laughs"), a list can hold itself, and a reader that recurses ends where the nesting is deep enough.
Hydra reads whatever is there. So the file's events are counted first, which takes time in proportion to its length and
expands nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult

from autotune.errors import ConfigError

# Ours have at most a hundred lines. YAML is read by Python at some 100 kB/s, and each entry costs Hydra some 0.1 ms.
_MOST_BYTES = 200_000
_MOST_ENTRIES = 5_000
_DEEPEST = 40
_TEXT_PER_ENTRY = 1_000  # of a long text, this many characters count as one more entry

_Parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # without libyaml the same, ten times as slow


@contextmanager
def careful() -> Iterator[None]:
    """While it lasts, Hydra reads no file that `check` refuses."""
    Plugins.instance()  # it registers Hydra's own source, and would refuse ours if it came later
    sources = SourcesRegistry.instance().types
    before = sources[FileConfigSource.scheme()]
    sources[FileConfigSource.scheme()] = _CarefulSource
    try:
        yield
    finally:
        sources[FileConfigSource.scheme()] = before


class _CarefulSource(FileConfigSource):
    def load_config(self, config_path: str) -> ConfigResult:
        file = Path(self.path, self._normalize_file_name(config_path))
        if file.is_file():  # otherwise Hydra knows what to say
            check(file)
        return super().load_config(config_path)


def check(file: Path) -> None:
    """Refuse a file that is no text, or that would not be read in reasonable time or memory.

    Raises:
        ConfigError: naming the file.
    """
    size = file.stat().st_size
    if size > _MOST_BYTES:
        raise ConfigError(f"{file}: a configuration file has at most {_MOST_BYTES:,} bytes, but got {size:,}")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{file}: a configuration file is UTF-8 text, but got {error.reason} at byte {error.start}"
        ) from None
    try:
        _check_events(yaml.parse(text, Loader=_Parser), file)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}, line {mark.line + 1}" if mark else str(file)
        raise ConfigError(f"{where}: not valid YAML: {getattr(error, 'problem', error)}") from None


def _check_events(events: Iterable[yaml.Event], file: Path) -> None:
    """Count entries as they are after every alias stands for what it names."""
    sizes: dict[str | None, int] = {}  # of what has an anchor, in entries
    opened: list[tuple[str | None, int]] = []  # anchor, and the entries counted before it
    entries = 0
    for event in events:
        match event:
            case yaml.CollectionStartEvent(anchor=anchor):
                opened.append((anchor, entries))
                entries += 1
            case yaml.CollectionEndEvent():
                anchor, before = opened.pop()
                sizes[anchor] = entries - before
            case yaml.ScalarEvent(anchor=anchor, value=text):
                sizes[anchor] = 1 + len(text) // _TEXT_PER_ENTRY
                entries += sizes[anchor]
            case yaml.AliasEvent(anchor=anchor):
                _require(anchor not in dict(opened), file, f"*{anchor} stands within what it names; write it out")
                entries += sizes.get(anchor, 1)
        _require(len(opened) <= _DEEPEST, file, f"nested more than {_DEEPEST} deep")
        _require(entries <= _MOST_ENTRIES, file, f"more than {_MOST_ENTRIES:,} entries, with each alias written out")


def _require(condition: bool, file: Path, otherwise: str) -> None:
    if not condition:
        raise ConfigError(f"{file}: {otherwise}")
