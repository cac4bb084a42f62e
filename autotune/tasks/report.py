"""`task=report`: make a study's report again, from its record alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from autotune.config.schema import Config
from autotune.errors import ConfigError, UserError
from autotune.record.events import FORMAT
from autotune.record.lines import FILE_NAME, read_lines, standing, start_of
from autotune.record.lock import alone
from autotune.record.view import StudyView
from autotune.report.write import write_report

FOLDER = "report"


def report(config: Config) -> int:
    """Write the report of the study in `study.folder` into that folder, print the paths, and return 0.

    The study may be running, unfinished, of an older version, or in another place than it was run in.

    Raises:
        UserError: there is no such record, or the report cannot be written.
    """
    if config.study.folder is None:
        raise ConfigError("task=report needs the folder of a study, but study.folder is null; add study.folder=...")
    folder = Path(config.study.folder)
    with _session(folder) as running:
        view = _view(folder)
        files = _written(view, folder / FOLDER, [*_running(running), *_older(view)])
    sys.stdout.write("".join(f"{path}\n" for path in files.values()))
    return 0


@contextmanager
def _session(folder: Path) -> Iterator[bool]:
    """Whether a session of the study is running; if none is, none begins meanwhile, which would write a report too."""
    with ExitStack() as kept_out:
        running = False
        if folder.is_dir():
            try:
                kept_out.enter_context(alone(folder))
            except ConfigError:
                running = True
            except OSError:  # a folder that cannot be written; no session can begin there either
                pass
        yield running


def _view(folder: Path) -> StudyView:
    lines = standing(read_lines(folder / FILE_NAME, older=True))
    start_of(lines, folder / FILE_NAME)
    return _moved(StudyView.of(line.event for line in lines), folder)


def _moved(view: StudyView, folder: Path) -> StudyView:
    """With the paths of where the study's folder is now, as far as its files are there."""
    assert view.started is not None
    origin = Path(view.started.output_dir)
    view.started = replace(view.started, output_dir=str(folder))
    if view.exported is not None:
        files = {name: _now(path, origin, folder) for name, path in view.exported.files.items()}
        view.exported = replace(view.exported, folder=_now(view.exported.folder, origin, folder), files=files)
    return view


def _now(text: str, origin: Path, folder: Path) -> str:
    path = Path(text)
    moved = folder / path.relative_to(origin) if path.is_relative_to(origin) else path
    return str(moved) if moved.exists() else text


def _running(running: bool) -> list[str]:
    told = "the study is running: this is what it had measured when the report was made; make it again later"
    return [told] if running else []


def _older(view: StudyView) -> list[str]:
    assert view.started is not None
    if view.started.format == FORMAT:
        return []
    return [f"the record is of an older version (format {view.started.format}): what it did not hold yet is missing"]


def _written(view: StudyView, folder: Path, remarks: list[str]) -> dict[str, Path]:
    try:
        return write_report(view, folder, remarks)
    except OSError as error:
        raise UserError(f"the report cannot be written into {folder}: {error.strerror or error}") from None
