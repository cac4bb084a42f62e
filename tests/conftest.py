"""What every test may count on: a quiet environment, and a skip where a device is missing."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from absl import logging as absl_logging

# Before any test imports a framework; children inherit them.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["DO_NOT_TRACK"] = "true"
# A developer's own tracking server is no place for the runs of tests.
os.environ.pop("MLFLOW_TRACKING_URI", None)
# A shell's background job, as a CI runner may start one, ignores Ctrl-C, and so would every program that a test starts.
for _signal in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, signal.default_int_handler if _signal == signal.SIGINT else signal.SIG_DFL)
# TensorFlow brings absl, whose handler closes its stream when logging is set up anew, as Hydra does: a test that
# composes would close what pytest captures in, if one before it in the process has imported TensorFlow.
absl_logging.get_absl_handler().python_handler.stream = sys.__stderr__


def pytest_configure() -> None:
    """Four thousand tests are collected into objects that stay: looking for garbage among them takes a third longer."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What stays is looked at no more."""
    gc.enable()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU or a browser where there is none; what takes long goes first.

    Two processes share the tests by files: whoever began a long one last would end it alone.
    """
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    skips = {
        "gpu": (Path("/dev/nvidia0").exists(), "no NVIDIA GPU here"),
        "browser": (shutil.which("chromium") is not None, "no chromium here"),
    }
    for item in items:
        for marker, (present, reason) in skips.items():
            if item.get_closest_marker(marker) and not present:
                item.add_marker(pytest.mark.skip(reason=reason))
