"""Hydra's own settings come from the command line, never from a file: they can run code.

Hydra makes `hydra.callbacks`, `hydra.launcher` and `hydra.sweeper` from their `_target_`, builds the handlers of
`hydra.job_logging` by name, imports the packages in `hydra.searchpath` and sets the variables in `hydra.job.env_set`.
Its list of forbidden targets leaves much of Python's library and every installed package open. So the whole `hydra`
node must be what Hydra, this package and the command line make it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from hydra._internal import hydra as internal
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from autotune.cli.flags import override_key
from autotune.cli.repository import Repository, stays_below
from autotune.errors import ConfigError

_SEARCH_PATH = "hydra.searchpath"
_MAY_SET_MODE = {"hydra", "hydra.mode", _SEARCH_PATH}
_LOADER = "ConfigLoaderImpl"

# What a file may set, since it is text or a choice of how to run, and what Hydra itself fills in.
_FREE = ("help", "hydra_help", "mode", "runtime", "searchpath")
_FREE_OF_JOB = ("name", "config_name", "override_dirname")


@contextmanager
def only_typed(config_path: str) -> Iterator[None]:
    """While it lasts, Hydra refuses settings of its own that no override has typed.

    Args:
        config_path: where the built-in configuration is, as Hydra is told.

    Raises:
        ConfigError: from within Hydra, before it has acted on such a setting.
    """

    class Guarded(_Loader):
        built_in = config_path

    own = getattr(internal, _LOADER)  # Hydra's modules do not declare what they import from one another
    setattr(internal, _LOADER, Guarded)
    try:
        yield
    finally:
        setattr(internal, _LOADER, own)


class _ModeIsOpenError(Exception):
    """Nobody has said whether there are several jobs, but for the flags; Hydra catches it."""


class _Loader(ConfigLoaderImpl):
    """Hydra's loader, by whose two doors everything comes that is composed."""

    built_in = ""

    def __init__(self, config_search_path: ConfigSearchPath) -> None:
        super().__init__(config_search_path)
        self.repository: Repository = Repository(config_search_path, self.built_in)
        self._options: dict[tuple[str, ObjectType | None], list[str]] = {}

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        asks_for_mode = run_mode is RunMode.MULTIRUN and not validate_sweep_overrides
        if asks_for_mode and self._leaves_mode_open(config_name, overrides):
            raise _ModeIsOpenError
        self._refuse_search_path(config_name, overrides)
        composed = super().load_configuration(config_name, overrides, run_mode, from_shell, validate_sweep_overrides)
        if self.repository.foreign:  # else nobody but Hydra, this package and the command line had a say in it
            _require_same(_plain(composed), self._expected(overrides))
        return composed

    def compute_defaults_list(self, config_name: str | None, overrides: list[str], run_mode: RunMode) -> Any:
        self._refuse_search_path(config_name, overrides)
        return super().compute_defaults_list(config_name, overrides, run_mode)

    def get_group_options(
        self,
        group_name: str,
        results_filter: ObjectType | None = ObjectType.CONFIG,
        config_name: str | None = None,
        overrides: list[str] | None = None,
    ) -> list[str]:
        if config_name is not None or overrides:
            return super().get_group_options(group_name, results_filter, config_name, overrides)
        asked = (group_name, results_filter)
        if asked not in self._options:  # `--help` asks twice for each group
            self._options[asked] = self.repository.get_group_options(group_name, results_filter)
        return list(self._options[asked])

    def _leaves_mode_open(self, config_name: str | None, overrides: list[str]) -> bool:
        """Whether nothing can have set `hydra.mode`.

        Hydra composes everything to look for it, before it composes everything to run, and takes a failure for "not
        set". The built-in files do not set it; a name that leads out of their folder may be of a file that does.
        """
        places = [place.path for place in self.config_search_path.get_path()]
        built_in = [place.path for place in create_config_search_path(self.built_in).get_path()]
        leads_out = not stays_below(config_name or "") or any(map(_may_lead_out, overrides))
        return places == built_in and not leads_out and not _MAY_SET_MODE & set(map(override_key, overrides))

    def _refuse_search_path(self, config_name: str | None, overrides: list[str]) -> None:
        """Hydra reads it from the primary file before all else, and imports the packages in it."""
        if config_name is None or any(parsed.key_or_group == _SEARCH_PATH for parsed in _parsed(overrides)):
            return
        primary = self.repository.load_config(config_name)
        if primary is not None and OmegaConf.is_dict(primary.config) and OmegaConf.select(primary.config, _SEARCH_PATH):
            _refuse(_SEARCH_PATH)

    def _expected(self, overrides: list[str]) -> dict[str, Any]:
        """The `hydra` node of the built-in configuration under the overrides that concern it."""
        parsed = _parsed(overrides)
        own = [one.input_line for one in parsed if one.is_hydra_override() and one.key_or_group != _SEARCH_PATH]
        built_in = ConfigLoaderImpl(create_config_search_path(self.built_in))
        expected = _plain(built_in.load_configuration("base", own, RunMode.RUN, validate_sweep_overrides=False))
        expected["overrides"] = {
            "hydra": [one.input_line for one in parsed if one.is_hydra_override()],
            "task": [one.input_line for one in parsed if not one.is_hydra_override()],
        }
        return expected


def _may_lead_out(override: str) -> bool:
    """Whether its value may be the name of a file elsewhere; one that is none costs only time."""
    value = override.partition("=")[2]
    return ".." in value or "\\" in value


def _parsed(overrides: Sequence[str]) -> list[Any]:
    return list(OverridesParser.create().parse_overrides(list(overrides)))


def _plain(composed: DictConfig) -> dict[str, Any]:
    node = OmegaConf.to_container(composed.hydra, resolve=False)
    assert isinstance(node, dict)
    return {str(key): value for key, value in node.items()}


def _require_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for node in (found, expected):
        for key in _FREE:
            node.pop(key, None)
        for key in _FREE_OF_JOB:
            node["job"].pop(key, None)
    for key in _differing(found, expected, "hydra"):
        _refuse(key)


def _differing(found: Any, expected: Any, key: str) -> Iterator[str]:
    """Dotted keys of what is not the same, the deepest that tell."""
    if isinstance(found, dict) and isinstance(expected, dict) and expected:
        for name in dict.fromkeys([*found, *expected]):
            yield from _differing(found.get(name), expected.get(name), f"{key}.{name}")
    elif found != expected:
        yield key


def _refuse(key: str) -> NoReturn:
    raise ConfigError(
        f"{key} must not be set in a configuration file, since Hydra's own settings can run code; remove it there, and"
        f" give it on the command line if you mean it: {key}=..."
    )
