"""`make dashboard`: Optuna's dashboard on the last run.

    python -m autotune.viewers.dashboard --root outputs --port 8080
    python -m autotune.viewers.dashboard --run outputs/2026-11-30/01-17-15_cifar_mlp_rtx2060

A copy is shown: what is edited or deleted in the dashboard changes nothing in the run.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from autotune.errors import UserError
from autotune.study.storage import FILE_NAME
from autotune.viewers import optuna_server, serving
from autotune.viewers.optuna_server import PACKAGE

_PAGE = "dashboard/studies/0"


def main(argv: Sequence[str] | None = None) -> int:
    """Show the run until Ctrl-C, and return the exit status; 2 for a person's mistake, told in one line."""
    parser = argparse.ArgumentParser(prog="python -m autotune.viewers.dashboard", description=__doc__)
    parser.add_argument(
        "--root", type=Path, default=Path("outputs"), help="folder of all runs, of which the last is shown"
    )
    parser.add_argument("--run", type=Path, help="folder of the run to show")
    parser.add_argument("--port", type=int, default=8080)
    given = parser.parse_args(argv)
    try:
        return _show(_of_run(given.run) if given.run else last_storage(given.root), given.port)
    except UserError as error:
        sys.stderr.write(f"autotune: error: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 0


def last_storage(root: Path) -> Path:
    """The storage that was written last below the output root.

    Raises:
        UserError: there is none.
    """
    found = [*root.glob(f"*/{FILE_NAME}"), *root.glob(f"*/*/{FILE_NAME}")]
    if not found:
        raise UserError(
            f"no run in {root} has an {FILE_NAME}, which a study writes at its end: make one with: make run"
        )
    return max(found, key=lambda path: path.stat().st_mtime)


def _of_run(run: Path) -> Path:
    if not (run / FILE_NAME).is_file():
        raise UserError(f"there is no {FILE_NAME} in {run}, which a study writes at its end")
    return run / FILE_NAME


def _show(storage: Path, port: int) -> int:
    if importlib.util.find_spec(PACKAGE) is None:
        raise UserError("optuna-dashboard is not installed: make setup installs it, or pip install '.[dashboard]'")
    serving.require_free(port)
    host = serving.HOST
    with tempfile.TemporaryDirectory(prefix="autotune-") as scratch:
        copy = shutil.copy(storage, scratch)
        address = f"http://{host}:{port}/{_PAGE}"
        sys.stdout.write(f"Optuna dashboard of a copy of {storage} (stop with Ctrl-C)\n")
        sys.stdout.flush()
        command = [sys.executable, "-P", "-m", optuna_server.__name__, str(copy), host, str(port)]
        return serving.serve(command, address, lambda: _opened(address))


def _opened(address: str) -> None:
    sys.stdout.write(f"open: {address}\n")
    sys.stdout.flush()
    serving.show(address)


if __name__ == "__main__":
    sys.exit(main())
