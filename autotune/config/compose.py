"""The one edge between Hydra's composed tree and the typed configuration; no `DictConfig` goes past it."""

from __future__ import annotations

import enum
import warnings
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from autotune.config import cross_checks, environment, kinds, limits, locations, texts
from autotune.config.keys import START, misspelt, schema_keys
from autotune.config.refusals import describe_refusal
from autotune.config.schema import Config
from autotune.errors import ConfigError

SCHEMA_NAME = "autotune_schema"


def register_schema() -> None:
    """Make the typed schema known to Hydra, as the node that `conf/base.yaml` starts from."""
    ConfigStore.instance().store(name=SCHEMA_NAME, node=Config, provider="autotune")


def load(cfg: DictConfig, cwd: Path | None = None) -> Config:
    """The typed configuration, checked, with absolute paths.

    Args:
        cfg: what Hydra composed, without its own `hydra` node.
        cwd: folder that relative paths start from; by default the working directory.

    Raises:
        ConfigError: a value or a combination of values that cannot work, one that is missing, or a reference
            that leads nowhere.
    """
    _refuse_added_keys(cfg)
    config = _typed(cfg)
    if not isinstance(config, Config):
        raise ConfigError(f"the primary configuration must start from base, but got {type(config).__name__}; {START}")
    texts.check(to_yaml_dict(config))
    limits.check(config)
    locations.make_absolute(config, cwd or Path.cwd())
    cross_checks.check(config)
    locations.check_output(config)
    return config


def to_yaml_dict(config: Config) -> dict[str, Any]:
    """Plain values that Hydra composes back to an equal `Config`: enums by name, secrets by their variables."""
    return {field.name: _plain(getattr(config, field.name)) for field in fields(config)}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, str):
        return environment.written(value)
    return value


def _refuse_added_keys(cfg: DictConfig, prefix: str = "") -> None:
    """`+key=...` opens Hydra's lock, and OmegaConf then keeps a key that the schema does not know."""
    for key, node in cfg.items_ex(resolve=False):
        dotted = prefix + str(key)
        if dotted not in schema_keys():
            raise ConfigError(misspelt(dotted))
        if isinstance(node, DictConfig) and is_dataclass(OmegaConf.get_type(node)):
            _refuse_added_keys(node, f"{dotted}.")


def _typed(cfg: DictConfig) -> Any:
    """The dataclasses, with every reference followed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a deprecated reference; nobody would see a warning before the first table
            if OmegaConf.get_type(cfg) is Config:
                kinds.check(OmegaConf.to_container(cfg, resolve=True), Config)
            return OmegaConf.to_object(cfg)
    except OmegaConfBaseException as error:
        raise _ours(error) from None
    except RecursionError:
        raise ConfigError("the configuration refers to itself, or is nested too deeply to be read") from None


def _ours(error: OmegaConfBaseException) -> ConfigError:
    """The error of a `__post_init__` that OmegaConf has wrapped, or what OmegaConf itself objects to."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConfigError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return ConfigError(describe_refusal(error))
