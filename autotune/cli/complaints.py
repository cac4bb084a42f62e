"""One line for whatever goes wrong while a configuration is composed, and for a fault."""

from __future__ import annotations

import os
import re
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

import yaml
from hydra.errors import (
    ConfigCompositionException,
    HydraException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf.errors import OmegaConfBaseException

from autotune.cli.flags import CommandLine, override_key
from autotune.cli.override import describe_override
from autotune.config.checks import did_you_mean
from autotune.config.environment import without_secrets
from autotune.config.keys import GROUPS, misspelt
from autotune.config.refusals import describe_refusal
from autotune.errors import UserError
from autotune.masking import masked

_LONGEST_LINE = 1000  # all forty names of devices fit into it
_SHOWN_END = 200

_COMPOSING = re.compile(r"In '(?P<config>[^']+)': \w+ raised while composing config:")
_NOT_A_CHOICE = re.compile(r"Could not override '(?P<group>[^']+)'\. No match in the defaults list")
_EXISTS = re.compile(r"Could not append to config\. An item is already at '(?P<key>[^']+)'")
_SWEEP = re.compile(r"(?:Ambiguous value for argument|Sweep parameters) '(?P<override>[^']*)'")


def describe(error: Exception, command: CommandLine) -> str | None:
    """One line for what Hydra raised while it composed, or None if it is a fault and no person's mistake."""
    text = _describe(error, command)
    return None if text is None else one_line(text)


def one_line(text: str) -> str:
    """The text in one line that a person can take in, without secrets; a mistake may be a whole file's value."""
    line = " ".join(_without_secrets(text).split())
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[: _LONGEST_LINE - 2 * _SHOWN_END]} [...] {line[-_SHOWN_END:]}"


def describe_fault(error: BaseException) -> str:
    """One line for a fault; the traceback goes to a file, or to the console with AUTOTUNE_TRACEBACK=1."""
    trace = _without_secrets("".join(traceback.format_exception(error)))
    line = one_line(f"fault: {type(error).__name__}: {error}")
    if os.environ.get("AUTOTUNE_TRACEBACK") == "1":
        return f"{line}\n{trace}".rstrip()
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="autotune-traceback-",
            suffix=".txt",
            delete=False,
            encoding="utf-8",
            errors="backslashreplace",  # a path that is not UTF-8
        ) as file:
            file.write(trace)
    except OSError:  # a full disk is often the fault itself
        return f"{line} (AUTOTUNE_TRACEBACK=1 shows the traceback)"
    return f"{line} (traceback: {file.name})"


def _without_secrets(text: str) -> str:
    return without_secrets(masked(text))


def _describe(error: BaseException, command: CommandLine) -> str | None:
    match error:
        case UserError():
            return str(error)
        case OverrideParseException():
            return describe_override(error.override, error.message)
        case MissingConfigException():
            return _missing(error, command)
        case ConfigCompositionException():
            return _composition(error, command)
        case OmegaConfBaseException():
            return describe_refusal(error)
        case yaml.MarkedYAMLError():
            return _not_yaml(error)
        case RecursionError():
            return "what was asked for is nested too deeply to be read, or refers to itself"
        case HydraException() | yaml.YAMLError() | ValueError() | OSError() | KeyError() | UserWarning():
            return _plain(error)
    if _raised_by_hydra(error):
        return f"what was asked for cannot be composed: {type(error).__name__} {error}"
    return None


def _raised_by_hydra(error: BaseException) -> bool:
    """Whether it is an assertion or the like within Hydra, which meets odd input with them, and no fault of ours."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return bool(frames) and frames[-1][0].f_globals.get("__name__", "").partition(".")[0] in ("hydra", "omegaconf")


def _missing(error: MissingConfigException, command: CommandLine) -> str:
    path = str(error.missing_cfg_file)
    group, _, name = path.rpartition("/")
    if error.options is None:
        if group or not str(error).startswith("Cannot find primary config"):
            return f"there is no configuration '{path}', which a defaults list asks for"
        choices = [file.stem for file in sorted((command.config_dir or Path()).glob("*.yaml"))]
        where = command.config_dir or "the built-in groups; add your folder with --config-dir"
        return f"--config-name: there is no {name}.yaml in {where}.{did_you_mean(name, choices)}"
    typed = group in map(override_key, command.overrides)
    place = "" if typed else ", which a defaults list asks for"
    hint = did_you_mean(name, error.options)
    return f"there is no {group} '{name}'{place}.{hint} Choices: {', '.join(error.options)}"


def _composition(error: ConfigCompositionException, command: CommandLine) -> str:
    text = str(error)
    if match := _COMPOSING.match(text):
        return f"{_file(match['config'], command)}: {_inner(error)}"
    if match := _NOT_A_CHOICE.match(text):
        group = match["group"]
        return (
            f"this configuration holds values and has no group '{group}' to choose from; "
            f"set single keys of it (--cfg job --package {group} lists them),"
            " or begin its defaults list with '- config'"
        )
    if match := _EXISTS.match(text):
        return f"'{match['key']}' exists already; write it without the + in front"
    if match := _SWEEP.match(text):
        override = match["override"]
        key, _, value = override.partition("=")
        as_list = "" if key in GROUPS else f", or write {key}=[{value}] for a list"
        return f"'{override}' has several values; add -m to run them one after another{as_list}"
    if isinstance(error.__cause__, OmegaConfBaseException):
        return _inner(error, _rejected(text))
    return _plain(error)


def _inner(error: BaseException, override: str | None = None) -> str:
    """What OmegaConf had to say beneath Hydra's exception."""
    for cause in _causes(error):
        if isinstance(cause, UserError):
            return str(cause)
        if isinstance(cause, OmegaConfBaseException) and (cause.full_key or cause.msg):
            return describe_refusal(cause, override, GROUPS)
    return misspelt(override, GROUPS) if override else _plain(error)


def _rejected(text: str) -> str | None:
    match = re.match(r"(?:Could not override '|Error merging override \+{0,2})(?P<key>[^'=]+)", text)
    return match["key"] if match else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause = error.__cause__ or error.__context__
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _not_yaml(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"{mark.name}, line {mark.line + 1}" if mark else "a configuration file"
    return f"{where}: not valid YAML: {error.problem or error.context}"


def _file(config: str, command: CommandLine) -> str:
    """The file that a config came from, as a person would find it."""
    own = (command.config_dir or Path("/nonexistent")) / f"{config}.yaml"
    return str(own) if own.is_file() else f"{config}.yaml"


def _plain(error: BaseException) -> str:
    """Hydra's own words without its addresses and search paths."""
    text = re.split(r"\n\s*(?:Config search path|Search path):|\nSee https?://", str(error))[0]
    return text.strip() or type(error).__name__
