"""`make ui`: MLflow's UI, opened on the last study.

    python -m autotune.viewers.ui --store outputs/mlflow.db --port 5000

Where MLFLOW_TRACKING_URI names a server, that has a UI already, which is opened instead.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from autotune.config.tracking import TrackingConfig
from autotune.errors import UserError
from autotune.tracking import pages
from autotune.tracking.last_study import LastStudy, can_be_asked, is_server, last_study, without_login
from autotune.tracking.saved_views import LAST
from autotune.tracking.store import set_environment
from autotune.tracking.uri import VARIABLE, Store, store_in_force
from autotune.viewers import serving

_USUAL = Path("outputs/mlflow.db")


def main(argv: Sequence[str] | None = None) -> int:
    """Show the store until Ctrl-C, and return the exit status; 2 for a person's mistake, told in one line."""
    parser = argparse.ArgumentParser(prog="python -m autotune.viewers.ui", description=__doc__)
    parser.add_argument("--store", type=Path, help=f"an SQLite file; else {VARIABLE}, else {_USUAL}")
    parser.add_argument("--port", type=int, default=5000)
    given = parser.parse_args(argv)
    try:
        return _show(_store(given.store), given.port)
    except UserError as error:
        sys.stderr.write(f"autotune: error: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 0


def _store(file: Path | None) -> Store:
    if file is None and not os.environ.get(VARIABLE, "").strip():
        file = _USUAL
    own = None if file is None else f"sqlite:///{file}"
    return store_in_force(TrackingConfig(uri=own), (file or _USUAL).parent)


def _show(store: Store, port: int) -> int:
    study = last_study(store)  # before the server: what is not there need not be waited for
    if is_server(store):
        _tell(without_login(store.uri), store, study)
        return 0
    serving.require_free(port)
    set_environment()
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")  # three processes that nothing here asks of
    host = serving.HOST
    address = f"http://{host}:{port}"
    command = [sys.executable, "-P", "-m", "mlflow", "ui", "--workers", "1", "--host", host, "--port", str(port)]
    sys.stdout.write(f"MLflow UI of {store} on {address} (stop with Ctrl-C)\n")
    sys.stdout.flush()
    os.environ["MLFLOW_BACKEND_STORE_URI"] = store.uri  # not on the command line, which everybody can read
    return serving.serve(command, f"{address}/health", lambda: _tell(address, store, study))


def _tell(address: str, store: Store, study: LastStudy | None) -> None:
    lines = addresses(address, study)
    if study is None:
        why = (
            "no study is in it yet" if can_be_asked(store) else "the last study is not looked up in this kind of store"
        )
        lines = [f"{why}: {address}"]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    serving.show(f"{address}/{pages.run_page(study.experiment_id, study.run_id)}" if study else address)


def addresses(server: str, study: LastStudy | None) -> list[str]:
    """Which study is the last, and one line for each page that shows it; none without one.

    Args:
        server: MLflow's address, without a slash at its end.
        study: as `last_study` found it.
    """
    if study is None:
        return []
    experiment = study.experiment_id
    found = {
        "study": pages.run_page(experiment, study.run_id),
        "report": pages.artifact_page(experiment, study.run_id, pages.REPORT),
        "trials": pages.runs_page(experiment, LAST, charts=False),
        "charts": pages.runs_page(experiment, LAST, charts=True),
    }
    if study.sweep and len(study.experiments) > 1:
        found["multirun"] = pages.several_page(study.experiments, pages.of_sweep(study.sweep))
    return [f"the last study is {study.name}", *(f"  {title:<9} {server}/{page}" for title, page in found.items())]


if __name__ == "__main__":
    sys.exit(main())
