"""Finds the callable that a configuration names with `_target_`."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from autotune import trust
from autotune.errors import ConfigError


def resolve(target: str, key: str) -> Callable[..., Any]:
    """The callable at the dotted name `target`, if it may be named there (see `autotune.trust`).

    A name that is not built in is looked up in the current working directory first, then among the installed packages.
    Built-in names never see that directory, so that a person's own `data` or `models` package and ours do not shadow
    each other.

    Args:
        target: `package.module.function`.
        key: the configuration key that holds it, for messages.

    Raises:
        ConfigError: it is not trusted (then nothing is imported), cannot be imported, does not exist, is not callable,
            or is only passed on by a trusted module.
    """
    trust.require_trusted([(key, target)])
    module_name, _, attribute = target.rpartition(".")
    module = _import(module_name, target, key)
    try:
        found = getattr(module, attribute)
    except AttributeError:
        near = difflib.get_close_matches(attribute, dir(module), n=1)
        hint = f"did you mean {module_name}.{near[0]}?" if near else f"see {module.__file__}."
        raise ConfigError(f"{key} names {target}, but {module_name} has no {attribute!r}; {hint}") from None
    if not callable(found):
        raise ConfigError(f"{key} must name a callable, but {target} is {type(found).__name__}.")
    trust.require_defined_within(found, target, key)
    resolved: Callable[..., Any] = found
    return resolved


def _import(module_name: str, target: str, key: str) -> ModuleType:
    try:
        if target in trust.BUILT_IN.get(key, ()):
            return importlib.import_module(module_name)
        with _working_directory_first(module_name.partition(".")[0]):
            return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if module_name == missing or module_name.startswith(missing + "."):
            raise ConfigError(
                f"{key} names {target}, but there is no module {missing!r} here in {Path.cwd()} "
                "or among the installed packages."
            ) from None
        raise ConfigError(
            f"{key} names {target}, but importing {module_name} failed: it needs the module "
            f"{missing!r}, which is not installed."
        ) from error
    except Exception as error:  # a person's module may raise anything while it is imported
        raise ConfigError(
            f"{key} names {target}, but importing {module_name} failed: {type(error).__name__}: {error}"
        ) from error


@contextmanager
def _working_directory_first(top: str) -> Iterator[None]:
    here = Path.cwd()
    if str(here) not in sys.path:
        sys.path.append(str(here))  # last, and for good: a source may import its siblings late
    if not ((here / f"{top}.py").is_file() or (here / top).is_dir()):
        yield
        return
    sys.path.insert(0, str(here))
    try:
        yield
    finally:
        sys.path.remove(str(here))
