"""Finds the study that a run goes on with, and refuses one whose measurements would not compare with new ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from autotune.config.schema import Config, Task
from autotune.errors import ConfigError, UserError
from autotune.record.events import Exported, FidelityPlanned, StudyStarted, WorkerReady
from autotune.record.lines import FILE_NAME, Line, read_lines, standing
from autotune.record.lock import FILE_NAME as SESSION
from autotune.record.lock import last_beat_s, was_killed
from autotune.record.tape import Resumed, Tape
from autotune.record.view import StudyView
from autotune.tasks.changes import Change, of_device, of_settings, of_worker

E = TypeVar("E")

# What a session writes last but one; Optuna's storage follows.
REPORT = Path("report", "summary.md")

# What a session makes before the first line of its record.
_BEFORE_A_STUDY = frozenset({FILE_NAME, SESSION, "worker.log"})


@dataclass(frozen=True, slots=True)
class Earlier:
    """A study that did not end, or one that was asked for by name with `study.resume=auto`.

    Attributes:
        elapsed_s: how long it has run: until it was last seen alive [s].
        killed: whether its last session did not end by itself.
        changes: what is not as it was and leaves what was measured valid.
    """

    folder: Path
    lines: list[Line]
    elapsed_s: float
    killed: bool
    changes: tuple[Change, ...] = ()

    @property
    def started(self) -> StudyStarted:
        """Its first line."""
        started = _first(self.lines, StudyStarted)
        assert started is not None  # or it had not been found
        return started

    @property
    def view(self) -> StudyView:
        """What it has found."""
        return StudyView.of(line.event for line in standing(self.lines))

    @property
    def exported(self) -> bool:
        """Whether nothing but its report is missing, at most."""
        return any(isinstance(line.event, Exported) for line in standing(self.lines))

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.exported and (self.folder / REPORT).is_file()

    def resumed(self, command: str) -> Resumed:
        """What a session that goes on with it is given.

        Raises:
            ConfigError: another session has gone on meanwhile.
        """
        if list(read_lines(self.folder / FILE_NAME)) != self.lines:
            raise ConfigError(f"the study in {self.folder} has gone on meanwhile; look at it before it is resumed")
        return Resumed(Tape(self.lines, killed=self.killed), self.elapsed_s, tuple(map(str, self.changes)), command)

    def planned(self, config: Config) -> Config:
        """The configuration with trainings as long as they were, whatever a changed budget would afford."""
        found = _first(self.lines, FidelityPlanned)
        if not self.changes or found is None:
            return config
        train = replace(config.train, examples=found.recipe.examples, epochs=found.recipe.epochs)
        return replace(config, train=train)


def find_earlier(config: Config, now: StudyStarted) -> Earlier | None:
    """The study that `study.resume` asks for, or None for a new one.

    With `auto` a study that was named may be finished: the same command is given again and again then, by a scheduler
    that cannot know whether the last session was killed before its end or just after.

    Args:
        config: the configuration.
        now: how a study of this configuration would start here.

    Raises:
        ConfigError: there is none, or it is finished, or it cannot go on under this configuration.
    """
    asked = config.study
    if asked.resume == "false":
        return None
    if asked.folder is not None:
        return _usable(_named(Path(asked.folder), config), now, config)
    if config.output.name is not None:
        named = Path(config.output.root, config.output.name)
        begins = asked.resume == "auto" and (not named.exists() or abandoned(named))
        return None if begins else _usable(_named(named, config), now, config)
    found = list(_unfinished(config))
    same = [earlier for earlier in found if not of_settings(earlier.started, now)]
    if same:
        return same[0]
    if asked.resume == "auto":
        return None
    if not found:
        raise ConfigError(
            f"study.resume=true needs an unfinished study of {config.model.name} for {config.hw.name} in"
            f" {config.output.root}, but there is none; study.resume=auto begins a new one then"
        )
    return _usable(found[0], now, config)


def abandoned(folder: Path) -> bool:
    """Whether a session was killed in this folder before its study began: nothing in it is worth keeping."""
    try:
        names = {path.name for path in folder.iterdir()}
        return names <= _BEFORE_A_STUDY and (FILE_NAME not in names or b"\n" not in (folder / FILE_NAME).read_bytes())
    except OSError:
        return False


def begun_in_vain(config: Config) -> Path | None:
    """The folder that `output.name` asks for, if an earlier session was killed there before its study began."""
    if config.output.name is None or config.study.resume != "auto":
        return None
    named = Path(config.output.root, config.output.name)
    return named if named.exists() and abandoned(named) else None


def refuse(changes: list[Change], folder: Path, *, accept: bool) -> None:
    """Say what is not as it was, unless all of it leaves the old measurements valid and that is accepted.

    Raises:
        ConfigError: the study cannot go on.
    """
    if not changes or (accept and all(change.valid for change in changes)):
        return
    told = "; ".join(str(change) for change in changes if not change.valid)
    if told:
        raise ConfigError(
            f"the study in {folder} cannot go on, since its measurements would not compare with new ones: {told};"
            " begin a new study with study.resume=false"
        )
    told = "; ".join(map(str, changes))
    raise ConfigError(
        f"the study in {folder} was begun otherwise: {told}; what it measured stays valid: add"
        " study.accept_changes=true to go on with it"
    )


def check_machine(earlier: Earlier, now: StudyStarted, ready: WorkerReady) -> None:
    """Refuse another device, other data or another framework than the study began with.

    One that was killed right after its first line has measured nothing with any data or framework.

    Raises:
        ConfigError: see `refuse`.
    """
    changes = of_device(earlier.started, now)
    if (before := _first(earlier.lines, WorkerReady)) is not None:
        changes += of_worker(before, ready)
    refuse(changes, earlier.folder, accept=False)


def _usable(earlier: Earlier, now: StudyStarted, config: Config) -> Earlier:
    changes = of_settings(earlier.started, now)
    refuse(changes, earlier.folder, accept=config.study.accept_changes)
    return replace(earlier, changes=tuple(changes))


def _named(folder: Path, config: Config) -> Earlier:
    """The study of a folder that was asked for.

    Raises:
        UserError: no such record, or it cannot be read.
        ConfigError: nothing is left to do in it, and there should be.
    """
    earlier = _read(folder)
    if earlier.finished and config.study.resume != "auto":
        raise ConfigError(
            f"the study in {folder} is finished: it was decided and exported; begin a new one with study.resume=false"
        )
    return earlier


def _read(folder: Path) -> Earlier:
    """The study of a folder.

    Raises:
        UserError: no such record, or it cannot be read.
    """
    lines = list(read_lines(folder / FILE_NAME))
    if not lines or not isinstance(lines[0].event, StudyStarted):
        raise ConfigError(f"{folder / FILE_NAME} holds no study; begin a new one with study.resume=false")
    return Earlier(folder, lines, max(lines[-1].at_s, last_beat_s(folder)), was_killed(folder))


def records(config: Config) -> list[Path]:
    """Records of studies of the same model and target below `output.root`, newest first."""
    root, found = Path(config.output.root), []
    for path in (*root.glob(f"*/{FILE_NAME}"), *root.glob(f"*/*/{FILE_NAME}")):
        began = _began(path, config)
        if began is not None:
            found.append((began, path))
    return [path for _, path in sorted(found, reverse=True)]


def _unfinished(config: Config) -> Iterator[Earlier]:
    """Unfinished studies of the same model and target below `output.root`, newest first."""
    for path in records(config):
        try:
            earlier = _read(path.parent)
        except UserError:
            continue  # of another version, or damaged: none that could go on
        if not earlier.finished:
            yield earlier


def _began(path: Path, config: Config) -> float | None:
    """When the record's study began, if it is one of this model and target; only the first line is read."""
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline())
        own = first["config"]
        names = (own["task"], own["model"]["name"], own["hw"]["name"])
        began = float(first["started_unix_s"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return began if names == (Task.tune.value, config.model.name, config.hw.name) else None


def _first(lines: list[Line], kind: type[E]) -> E | None:
    return next((line.event for line in lines if isinstance(line.event, kind)), None)
