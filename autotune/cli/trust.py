"""What a person trusts by typing it: a name after `_target_` on the command line is their own word for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from autotune import trust

_KEY = "_target_"


def typed(overrides: Sequence[str]) -> list[str]:
    """Dotted names that overrides give to `_target_`, such as `model._target_=my_net.build`.

    Who types a name means it, as who types `python my_net.py` does; a flag that repeats it would teach people to add
    flags without reading them. Only the name itself is trusted and nothing beside it. A reference such as
    `${data.name}` is no name: what it leads to stands in a file.
    """
    return [name for override in overrides if _KEY in override for name in _names(override)]


def _names(override: str) -> Iterator[str]:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_override(override)
    except HydraException:  # it is told as a mistake when the configuration is composed
        return
    key = parsed.key_or_group.rpartition(".")[2]
    yield from (name for name in _below(key, parsed.value()) if trust.is_dotted_name(name))


def _below(key: str, value: Any) -> Iterator[str]:
    from hydra.core.override_parser.types import ChoiceSweep, QuotedString

    match value:
        case ChoiceSweep():
            for choice in value.list:
                yield from _below(key, choice)
        case dict():
            for name, entry in value.items():
                yield from _below(name.text if isinstance(name, QuotedString) else str(name), entry)
        case list():
            for entry in value:
                yield from _below("", entry)
        case QuotedString():
            yield from _below(key, value.text)
        case str() if key == _KEY:
            yield value
