"""Datasets: found, checked, split and scaled, without any ML framework.

A data source is a callable that `data._target_` names:

    def load(*, seed: int, **args):
        return (x_train, y_train), (x_test, y_test)

It is called by keyword with `seed`, with those of `dir`, `download`, `download_timeout_s` and
`on_unavailable` ("stand_in" or "error") that it declares, and with all of `data.args`. It returns
two pairs of numpy arrays, or three (training, validation, test), or a `LoadedData`:

- x: shape (n, ...), uint8 (scaled to [0, 1] for you) or floating (used as float32, as given);
- y: shape (n,) or (n, 1), integers from 0 on (classification) or floating (regression);
- at least 10 training examples, a test part, one example shape and one x dtype in all parts.

What it returns may depend on nothing but its arguments: every worker process calls it again, and
trials are compared as if they saw the same examples in the same order. Without a validation part
of its own, one is split off the training pair by `data.split_seed`, stratified by class.
Whatever is wrong is a `DataError` of one line.
"""

from __future__ import annotations

from autotune.data.dataset import Dataset, LoadedData, Part
from autotune.data.loading import load
from autotune.data.preparation import prepare

__all__ = ["Dataset", "LoadedData", "Part", "load", "prepare"]
