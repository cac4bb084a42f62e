"""The command line's own grammar: flags anywhere, overrides in between, one line for a mistake."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from autotune import __version__, trust
from autotune.cli.trust import typed
from autotune.config.checks import did_you_mean
from autotune.errors import ConfigError

INFO_CHOICES = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
_KEY = re.compile(r"(?P<operation>~|\+{0,2})(?P<key>[^=]*)=?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What was asked, in the order that Hydra wants.

    Attributes:
        flags: flags with their values.
        overrides: `key=value` and `group=choice`.
        multirun: whether several jobs run one after another.
        runs: whether jobs run at all, rather than something being printed.
        config_dir: a person's own folder of groups, if any.
        trusted: dotted names that `--trust` gives and that overrides give to `_target_` (see `autotune.cli.trust`).
        full_error: HYDRA_FULL_ERROR as the caller had it; Hydra is run with another, children are not.
    """

    flags: tuple[str, ...]
    overrides: tuple[str, ...]
    multirun: bool
    runs: bool
    config_dir: Path | None
    trusted: tuple[str, ...] = ()
    full_error: str | None = field(default_factory=lambda: os.environ.get("HYDRA_FULL_ERROR"))


def parse(argv: Sequence[str]) -> CommandLine:
    """Sort `argv` into flags and overrides.

    Raises:
        ConfigError: an unknown flag, a flag without its value, two flags that exclude each other, an override
            given twice, a `--config-dir` that is no folder, or a `--trust` that is no dotted name.
        SystemExit: after `--version`.
    """
    if replacing := [word for word in argv if word.partition("=")[0] in ("-cp", "--config-path")]:
        raise ConfigError(f"{replacing[0]} would replace the built-in groups; --config-dir adds your folder to them")
    given, overrides = _parser().parse_known_intermixed_args(_explicit_info(argv))
    unknown = [word for word in overrides if word.startswith("-")]
    if unknown:
        _refuse_flag(unknown[0])
    overrides = [*given.overrides, *overrides]
    printing = [flag for flag in ("cfg", "info", "shell_completion") if getattr(given, flag)]
    chosen = [*printing, *(["multirun"] if given.multirun else []), *(["run"] if given.run else [])]
    if len(chosen) > 1:
        names = " and ".join("--" + flag.replace("_", "-") for flag in chosen)
        raise ConfigError(f"{names} exclude each other; give one of them")
    if given.resolve and not given.cfg:
        raise ConfigError("--resolve belongs to --cfg; write --cfg job --resolve")
    if "shell_completion" not in chosen:
        _refuse_repeated(overrides)
    config_dir = None if given.config_dir is None else _existing_folder(given.config_dir)
    return CommandLine(
        flags=tuple(_rendered(given, config_dir)),
        overrides=tuple(overrides),
        multirun=given.multirun,
        runs=not (printing or given.help or given.hydra_help),
        config_dir=config_dir,
        trusted=(*map(trust.checked, given.trust), *typed(overrides)),
    )


def override_key(override: str) -> str:
    """The key of `key=value`, `+key=value` or `~key`."""
    match = _KEY.match(override)
    return match["key"].strip() if match else override


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        raise ConfigError(f"{message}; all flags: --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="autotune", add_help=False, allow_abbrev=False)
    parser.add_argument("overrides", nargs="*", default=[])
    parser.add_argument("--version", action="version", version=f"autotune {__version__}")
    for names in (
        ("-h", "--help"),
        ("--hydra-help",),
        ("-m", "--multirun"),
        ("-r", "--run"),
        ("--resolve",),
        ("-sc", "--shell-completion"),
    ):
        parser.add_argument(*names, action="store_true")
    for names in (("-cd", "--config-dir"), ("-cn", "--config-name"), ("-p", "--package")):
        parser.add_argument(*names)
    parser.add_argument("--trust", action="append", default=[], metavar="PACKAGE")
    parser.add_argument("-c", "--cfg", choices=("job", "hydra", "all"))
    parser.add_argument("-i", "--info", choices=INFO_CHOICES)
    return parser


def _explicit_info(argv: Sequence[str]) -> list[str]:
    """`--info` alone means `--info all`; its value is optional, and an override must not be taken for it."""
    words: list[str] = []
    for word, following in zip(argv, [*argv[1:], ""], strict=False):
        words.append(word)
        if word in ("-i", "--info") and (not following or following.startswith("-") or "=" in following):
            words.append("all")
    return words


def _rendered(given: argparse.Namespace, config_dir: Path | None) -> list[str]:
    flags = ("help", "hydra_help", "multirun", "run", "resolve", "shell_completion")
    words = ["--" + flag.replace("_", "-") for flag in flags if getattr(given, flag)]
    values = {
        "--config-dir": config_dir,
        "--config-name": given.config_name,
        "--package": given.package,
        "--cfg": given.cfg,
        "--info": given.info,
    }
    for flag, value in values.items():
        if value is not None:
            words += [flag, str(value)]
    return words


def _refuse_flag(word: str) -> NoReturn:
    flag = word.partition("=")[0]
    known = [name for action in _parser()._actions for name in action.option_strings]
    raise ConfigError(f"there is no flag {flag}.{did_you_mean(flag, known)} All flags: --help")


def _refuse_repeated(overrides: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for override in overrides:
        key = override_key(override)
        if key in seen:
            raise ConfigError(f"'{key}' is given twice, as '{seen[key]}' and '{override}'; keep one of them")
        seen[key] = override


def _existing_folder(path: str) -> Path:
    folder = Path(path).expanduser().absolute()
    try:
        is_folder, exists = folder.is_dir(), folder.exists()
    except OSError as error:  # such as a name that is too long for any file
        raise ConfigError(f"--config-dir must be a folder, but got {path[:100]!r}: {error.strerror}") from None
    if not is_folder:
        found = "a file" if exists else "nothing"
        raise ConfigError(f"--config-dir must be a folder, but got {path!r} ({found} at {folder})")
    return folder
