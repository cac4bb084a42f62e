"""The command line: flags, then Hydra's composition, then one job or several, then one exit status."""

from __future__ import annotations

import gc
import io
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from autotune import interruption, sweep, trust
from autotune.cli import complaints, flags, multirun, signals, usage
from autotune.cli.override import check_choice, check_jobs, describe_override
from autotune.cli.status import FAULT, INTERRUPTED, USER_ERROR, JobResult, summary, worst
from autotune.config.keys import GROUPS, open_keys
from autotune.config.override_text import override
from autotune.errors import ConfigError, UserError
from autotune.printable import printable

if TYPE_CHECKING:
    from omegaconf import DictConfig

CONFIG_PATH = "pkg://autotune.conf"
CONFIG_NAME = "config"
HELP_NAME = "base"
"""Holds the text of --help, which needs none of the values that `config` adds: a sixth of the time."""

# Hydra makes no folder, no log and no copy of the configuration: the run's own folder has all of that.
_QUIET = (
    "hydra.run.dir=.",
    "hydra.output_subdir=null",
    "hydra.job_logging.root=null",
    "hydra.hydra_logging.root=null",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Do what `argv` asks (by default, the process's own arguments) and return the exit status."""
    _have_standard_streams()
    try:
        command = flags.parse(sys.argv[1:] if argv is None else argv)
    except (UserError, OSError) as error:  # a path that the system does not even look for
        return _user_error(str(error))
    except SystemExit:  # --version has printed
        return 0
    with signals.handled():
        status = _answer(command)
    return signals.exit_status(status)


def _have_standard_streams() -> None:
    """Whoever starts this may have closed them, and the next file or pipe that is opened would stand in their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _answer(command: flags.CommandLine) -> int:
    try:
        _check(command)
        return _run(command) if command.runs else _print(command)
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:  # noqa: BLE001 (the last resort: a fault is one line, too)
        line = complaints.describe(error, command)
        return _user_error(line) if line else _fault(error)


def _run(command: flags.CommandLine) -> int:
    """Compose and run the jobs; a job that ends badly does not end the others."""
    results: list[JobResult] = []
    began = datetime.now().astimezone()

    def job(cfg: DictConfig) -> None:
        if not any(result.status == INTERRUPTED for result in results):
            results.append(_job(cfg, command, began))

    with tempfile.TemporaryDirectory(prefix="autotune-") as scratch:
        # Hydra's sweeper writes a multirun.yaml, come what may.
        _hydra(job, command, (*_QUIET, override("hydra.sweep.dir", scratch)))
    if not results:
        raise ConfigError("these values make no job; a pattern such as glob(*) stands for choices of a group")
    if len(results) > 1:
        sys.stdout.write(summary(results))
    return worst(result.status for result in results)


def _job(cfg: DictConfig, command: flags.CommandLine, began: datetime) -> JobResult:
    """One job, whatever happens in it; its own mistakes and faults are told here."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    hydra = HydraConfig.get()
    several = hydra.mode is RunMode.MULTIRUN
    name = f"job {hydra.job.num}" if several else ""
    # Not resolved: a reference in an override may lead nowhere, which is for `load` to say.
    typed = cast("list[str]", OmegaConf.to_container(hydra.overrides.task, resolve=False))
    overrides = _printable(complaints.one_line(" ".join(typed)))
    if several:
        sys.stdout.write(f"\n{name}: {overrides}\n")
        sys.stdout.flush()
    try:
        of = multirun.sweep_of(command.overrides, typed, began) if several else None
        with _variable("HYDRA_FULL_ERROR", command.full_error), sweep.within(of):
            status = _pipeline(cfg, Path(hydra.runtime.cwd), command.trusted)
    except UserError as error:
        status = _user_error(str(error))
    except KeyboardInterrupt:
        status = _interrupted()
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the other jobs go on)
        status = _fault(error)
    return JobResult(name, overrides, status)


def _pipeline(cfg: DictConfig, cwd: Path, trusted: Sequence[str]) -> int:
    from autotune.config.compose import load, to_yaml_dict

    config = load(cfg, cwd)
    with trust.trusting(trusted):
        trust.require_trusted(trust.named_in(to_yaml_dict(config)))

        from autotune.pipeline import run

        gc.enable()  # see `autotune.__main__`
        return run(config)


def _print(command: flags.CommandLine) -> int:
    """`--help`, `--cfg`, `--info` and the like: Hydra prints, nothing runs."""
    out, complaint = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(complaint):
        try:
            _hydra(lambda _: None, command)
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
    if status != 0:
        raise ConfigError(complaint.getvalue() or "Hydra stopped without a reason")
    text = out.getvalue()
    sys.stdout.write(usage.reflow(text) if "--help" in command.flags else text)
    return 0


def _hydra(
    task: Callable[[DictConfig], None],
    command: flags.CommandLine,
    defaults: Sequence[str] = (),
) -> None:
    """Hydra's own entry point, with its exceptions let through and its command line replaced.

    Args:
        task: called with every composed configuration.
        command: what was asked.
        defaults: overrides that hold where the person gave none of that key.
    """
    import hydra

    from autotune.cli import config_files
    from autotune.cli.hydra_settings import only_typed
    from autotune.config.compose import register_schema

    register_schema()
    given = set(map(flags.override_key, command.overrides))
    added = [default for default in defaults if flags.override_key(default) not in given]
    own = sys.argv

    def job(cfg: DictConfig) -> None:
        with _arguments(own):  # what was typed, which the record quotes
            task(cfg)

    name = HELP_NAME if "--help" in command.flags and not command.overrides else CONFIG_NAME
    entry = hydra.main(version_base="1.3", config_path=CONFIG_PATH, config_name=name)(job)
    asked = [own[0], *command.flags, *map(_opened, command.overrides), *added]
    with (
        _arguments(asked),
        _variable("HYDRA_FULL_ERROR", "1"),
        warnings.catch_warnings(),
        only_typed(CONFIG_PATH),
        config_files.careful(),
    ):
        # Such as a search path that is not there; Hydra would only warn and go on without it.
        warnings.filterwarnings("error", category=UserWarning, module=r"hydra\.")
        # The person's own values come last then, as everybody expects; the warning is for those who remember Hydra 1.0.
        warnings.filterwarnings("ignore", message=r".*Defaults list is missing `_self_`")
        entry()


def _opened(typed: str) -> str:
    """`train.optimizer_args={momentum: 0.9}` as Hydra takes it, which adds entries only where it is told to."""
    key, _, value = typed.partition("=")
    return f"++{typed}" if value.lstrip().startswith("{") and key in open_keys() else typed


def _check(command: flags.CommandLine) -> None:
    """What Hydra would accept, and a person would regret; and what it cannot work with."""
    for folder, of in ((str(Path.cwd()), "the working folder"), (tempfile.gettempdir(), "TMPDIR")):
        if "${" in folder:
            raise ConfigError(f"{of} must have no '${{' in its name, which begins a reference, but got {folder!r}")
    for typed in command.overrides:
        key = flags.override_key(typed)
        if not key.strip("+~"):
            raise ConfigError(describe_override(typed, ""))
        if key in (*GROUPS, "hydra") and "=" in typed:
            check_choice(key, typed)
        if key == "hydra/launcher" and not typed.endswith("=basic"):
            raise ConfigError(
                f"jobs run one after another, since two at once would disturb each other's timing, "
                f"but got '{typed}'; use hydra/launcher=basic"
            )
    check_jobs(command.overrides)
    if command.config_dir is not None:
        usage.refuse_hidden(command.config_dir)


@contextmanager
def _variable(name: str, value: str | None) -> Iterator[None]:
    """An environment variable, set or removed for a while."""
    before = os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


@contextmanager
def _arguments(words: list[str]) -> Iterator[None]:
    """The process's arguments, for a while."""
    before, sys.argv = sys.argv, words
    try:
        yield
    finally:
        sys.argv = before


def _user_error(line: str) -> int:
    _complain(f"error: {complaints.one_line(line)}")
    return USER_ERROR


def _interrupted() -> int:
    interruption.leave()  # a second Ctrl-C has nothing left to stop
    _complain("interrupted")
    return INTERRUPTED


def _fault(error: BaseException) -> int:
    _complain(complaints.describe_fault(error))
    return FAULT


def _complain(line: str) -> None:
    with suppress(OSError):  # a terminal that is gone must not change how the run ended
        sys.stdout.flush()
        sys.stderr.write(f"autotune: {_printable(line)}\n")


def _printable(lines: str) -> str:
    """What is said may quote a name from anywhere, which must not reach a terminal's control characters."""
    return "\n".join(map(printable, lines.split("\n")))
