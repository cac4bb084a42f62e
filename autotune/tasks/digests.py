"""Digests of the code that measures: a study that goes on under other code would compare what does not compare."""

from __future__ import annotations

import hashlib
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import autotune
from autotune.trust import named_in

OURS = autotune.__name__

_PACKAGE = Path(autotune.__file__).parent


def code_digests(config: dict[str, Any], cwd: Path | None = None) -> dict[str, str]:
    """Of this package, and of the file of each callable that the configuration names, by its name.

    Nothing is imported, and files that such a file imports in turn are not looked at.

    Args:
        config: plain values.
        cwd: where a person's own modules are looked up first.
    """
    digests = {OURS: _digest(sorted(_PACKAGE.rglob("*.py")))}
    for target in sorted({target for _, target in named_in(config)}):
        module = target.rpartition(".")[0]
        if module.partition(".")[0] == OURS:
            continue
        path = _source(module, cwd or Path.cwd())
        if path is not None:
            digests[target] = _digest([path])
    return digests


def _source(module: str, cwd: Path) -> Path | None:
    """The module's file, found as an import would find it but without running any package on the way."""
    parts, places = module.split("."), [str(cwd)]
    spec = PathFinder.find_spec(parts[0], places) or PathFinder.find_spec(parts[0])
    for count in range(2, len(parts) + 1):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(".".join(parts[:count]), list(spec.submodule_search_locations))
    return Path(spec.origin) if spec is not None and spec.origin is not None and spec.has_location else None


def _digest(paths: list[Path]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in paths:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
