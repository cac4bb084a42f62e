"""Importing MLflow takes seconds: it is done beside the worker's import of TensorFlow, so that neither waits."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from autotune.tracking.store import set_environment

# How long a run that ends before it has begun waits for the import: SIGTERM has to end it within ten seconds [s].
_LONGEST_S = 5.0


@contextmanager
def imported_in_background() -> Iterator[threading.Thread]:
    """Begin to import MLflow; nothing is written anywhere. Join the thread before anything is timed.

    The import is over when this is left: warnings that its libraries silence are heard again where the filters of
    `warnings` are put back meanwhile, and a person's mistake is told in one line.
    """

    def work() -> None:
        importlib.import_module("mlflow")

    set_environment()
    thread = threading.Thread(target=work, name="mlflow-import", daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(_LONGEST_S)
