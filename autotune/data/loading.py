"""Calls the data source that the configuration names, and prepares what it returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from autotune.config.data import DataConfig
from autotune.data.dataset import Dataset, Loaded
from autotune.data.preparation import prepare
from autotune.errors import ConfigError, DataError, UserError
from autotune.targets import resolve

RESERVED = ("seed", "dir", "download", "download_timeout_s", "on_unavailable")
"""Keyword arguments that come from keys of the `data` group, not from `data.args`."""


def load(config: DataConfig) -> Dataset:
    """Loads and prepares the dataset of a configuration.

    Raises:
        ConfigError: `_target_` or `args` do not name a source that can be called so.
        DataError: the data is missing, corrupt, or not what the contract says.
    """
    source = resolve(config._target_, "data._target_")
    return prepare(_call(source, config), config)


def _call(source: Callable[..., Any], config: DataConfig) -> Loaded:
    keywords = _keywords(source, config)
    try:
        loaded: Loaded = source(**keywords)
    except UserError:
        raise
    except Exception as error:  # a person's own source may raise anything
        raise DataError(f"the data source {config._target_} failed: {type(error).__name__}: {error}") from error
    return loaded


def _keywords(source: Callable[..., Any], config: DataConfig) -> dict[str, Any]:
    clash = sorted(set(config.args) & set(RESERVED))
    if clash:
        raise ConfigError(f"data.args must not hold {clash[0]!r}; it comes from another data key.")
    offered = {
        "seed": config.split_seed,
        "dir": config.dir,
        "download": config.download,
        "download_timeout_s": config.download_timeout_s,
        "on_unavailable": config.on_unavailable.value,
    }
    try:
        parameters = inspect.signature(source).parameters.values()
    except (TypeError, ValueError):  # some callables written in C do not tell
        return {"seed": config.split_seed, **config.args}
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    known = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    if config.dir is not None and not (takes_all or "dir" in known):
        raise ConfigError(f"data.dir is set, but the source {config._target_} takes no dir.")
    if not (takes_all or "seed" in known):
        raise ConfigError(
            f"the data source {config._target_} must take the keyword argument seed, but takes {_listed(known)}."
        )
    keywords = {key: value for key, value in offered.items() if takes_all or key in known}
    keywords.update(config.args)
    _require_callable_with(source, keywords, known, config._target_)
    return keywords


def _require_callable_with(source: Callable[..., Any], keywords: dict[str, Any], known: set[str], target: str) -> None:
    try:
        inspect.signature(source).bind(**keywords)
    except TypeError as error:
        own = _listed(known - set(RESERVED))
        raise ConfigError(f"data.args do not fit the source {target}: {error}; it takes {own}.") from None


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
