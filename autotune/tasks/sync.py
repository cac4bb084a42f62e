"""`task=sync`: send a study from its record to MLflow, or what MLflow has missed of it."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from autotune.config.schema import Config
from autotune.errors import ConfigError, TrackingError, UserError
from autotune.record.events import StudyStarted
from autotune.record.lines import FILE_NAME, Line, read_lines, standing, start_of
from autotune.record.lock import alone
from autotune.tracking import later
from autotune.tracking.artifacts import study_files
from autotune.tracking.study_log import StudyLog
from autotune.tracking.wanted import UnixTime, Wanted


def sync(config: Config) -> int:
    """Send what the store named by `tracking.*` does not have of the study in `study.folder`, and return 0.

    Raises:
        UserError: there is no such record, its study is running, or the store does not take it; what was sent by then
            stays, and the same command goes on from there.
    """
    if config.study.folder is None:
        raise ConfigError("task=sync needs the folder of a study, but study.folder is null; add study.folder=...")
    folder = Path(config.study.folder)
    with _alone(folder):
        return _sync(config, folder)


def _sync(config: Config, folder: Path) -> int:
    lines = standing(read_lines(folder / FILE_NAME))
    started = start_of(lines, folder / FILE_NAME)
    store, experiment = later.store_of(started, config.tracking), later.experiment_of(started, config.tracking)
    log = StudyLog(store, experiment, _wanted(started, lines, folder))
    try:
        log.send()
        log.send_files()
    except TrackingError as error:
        raise UserError(f"cannot send {started.study} to the MLflow store {store}: {error}") from None
    sent = log.sent
    new = f"{sent.runs} runs, {sent.values} values and {sent.files} files were new"
    refused = f"; left out, since the store refuses them: {len(log.refused.reasons)}" if log.refused.reasons else ""
    sys.stdout.write(f"{started.study} is in the MLflow store {store}, run {log.run_id}: {new}{refused}\n")
    return 0


def _alone(folder: Path) -> AbstractContextManager[object]:
    """No session of the study is running, which would take it for ended."""
    if not os.access(folder, os.W_OK):  # nor can one, in a folder that is gone or is kept on a read-only medium
        return nullcontext()
    return alone(folder)


def _wanted(started: StudyStarted, lines: list[Line], folder: Path) -> Wanted:
    wanted, times = Wanted(started.study), UnixTime()
    for line in lines:
        wanted.take(line.event, times.ms(line.event, line.at_s))
    wanted.finish()
    wanted.attach(study_files(folder, wanted.view))
    return wanted
