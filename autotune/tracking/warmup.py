"""Importing MLflow takes seconds: it is done beside the worker's import of TensorFlow, so that neither waits."""

from __future__ import annotations

import importlib
import threading

from autotune.tracking.store import set_environment


def import_in_background() -> threading.Thread:
    """Begin to import MLflow; nothing is written anywhere. Join the thread before anything is timed."""

    def work() -> None:
        importlib.import_module("mlflow")

    set_environment()
    thread = threading.Thread(target=work, name="mlflow-import", daemon=True)
    thread.start()
    return thread
