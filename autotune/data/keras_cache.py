"""Where Keras keeps downloaded datasets, without importing Keras."""

from __future__ import annotations

import os
from pathlib import Path


def datasets_dir() -> Path:
    """`$KERAS_HOME/datasets`, or `~/.keras/datasets`; it need not exist.

    Source: the documentation of `keras.utils.get_file`, argument `cache_dir`.
    """
    home = os.environ.get("KERAS_HOME") or "~/.keras"
    return Path(home).expanduser().absolute() / "datasets"
