"""A command line as a person's terminal has it, with a pipeline that only takes note of what it would start."""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType

from autotune.cli.command import main
from autotune.config.schema import Config

Files = Mapping[str, bytes]
"""File contents by path, relative to the folder that the command line is used in."""

_HANGS_AFTER_S = 60


class Hang(BaseException):
    """No `Exception`: nothing in the package may take it for a mistake and go on."""


@dataclass(frozen=True)
class Outcome:
    """What one command line did.

    Attributes:
        status: the exit status.
        out: what it printed.
        err: what it complained of.
        configs: the configurations that a study would have been started with.
        left: files and folders that were not there before.
        cpu_s: processor time that it took [s].
    """

    status: int
    out: str
    err: str
    configs: tuple[Config, ...]
    left: tuple[str, ...]
    cpu_s: float


class Terminal(ModuleType):
    """Runs command lines in a folder of its own, in this process; stands in for `autotune.pipeline` meanwhile."""

    def __init__(self, folder: Path) -> None:
        super().__init__("autotune.pipeline")
        self._work, self._scratch = folder / "work", folder / "scratch"
        self._work.mkdir()
        self._scratch.mkdir()
        self._started: list[Config] = []

    def run(self, config: Config) -> int:
        """The door at which a study would begin."""
        self._started.append(config)
        return 0

    def type(self, argv: Sequence[str], files: Files | None = None) -> Outcome:
        """Run one command line beside these files.

        Raises:
            Hang: it does not end.
        """
        self._started.clear()
        written = self._write(files or {})
        before = self._present()
        # As Python sets them up in a UTF-8 terminal: output is strict, complaints are not.
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="strict", write_through=True)
        err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace", write_through=True)
        began_s = time.process_time()
        with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(), _not_for_ever(argv):
            warnings.simplefilter("default")
            warnings.showwarning = _print_warning  # as outside of pytest, which keeps them to itself
            status = main(argv)
        cpu_s = time.process_time() - began_s
        left = tuple(sorted(self._present() - before))
        for path in [*left, *sorted(written, reverse=True)]:
            _remove(Path(path))
        return Outcome(status, _text(out), _text(err), tuple(self._started), left, cpu_s)

    def _write(self, files: Files) -> set[str]:
        before = self._present()
        for name, content in files.items():
            path = self._work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return self._present() - before

    def _present(self) -> set[str]:
        return {str(path) for root in (self._work, self._scratch) for path in root.rglob("*")}

    @contextmanager
    def opened(self) -> Iterator[Terminal]:
        """While it lasts, this is the working directory, the place for temporary files, and the pipeline."""
        pipeline, here, scratch = sys.modules.get("autotune.pipeline"), Path.cwd(), tempfile.tempdir
        sys.modules["autotune.pipeline"] = self
        tempfile.tempdir = str(self._scratch)
        os.chdir(self._work)
        try:
            self.type([])  # imports are no part of what any case takes
            yield self
        finally:
            os.chdir(here)
            tempfile.tempdir = scratch
            sys.modules.pop("autotune.pipeline")
            if pipeline is not None:
                sys.modules["autotune.pipeline"] = pipeline


def _print_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))


@contextmanager
def _not_for_ever(argv: Sequence[str]) -> Iterator[None]:
    def hangs(number: int, frame: FrameType | None) -> None:
        raise Hang(f"no end after {_HANGS_AFTER_S} s: {argv!r:.500}")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(_HANGS_AFTER_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    content = stream.buffer
    assert isinstance(content, io.BytesIO)
    return content.getvalue().decode("utf-8")


def _remove(path: Path) -> None:
    if path.is_dir():
        for below in path.iterdir():
            _remove(below)
        path.rmdir()
    elif path.exists():
        path.unlink()
