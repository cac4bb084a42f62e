"""Exported models: evaluation on the test part, the SavedModel, and the check that reloading predicts the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np

from autotune.data import Dataset
from autotune.trial import Policy
from autotune.worker.child.train import EVALUATION_BATCH, Metric, predict
from autotune.worker.metrics import correct
from autotune.worker.protocol import EvaluateArgs, Evaluation, ExportArgs, ReloadArgs


def load_model(path: str, policy: Policy | None = None) -> keras.Model:
    """A saved `.keras` model under its own policy.

    Loading a mixed_float16 model under a float32 global policy drops its loss scaler and skips the optimizer's state;
    whoever goes on training it must set the policy first, so it is set here when it is given.
    """
    if policy is not None:
        keras.config.set_dtype_policy(policy.name)
    return keras.models.load_model(path)


def evaluate(args: EvaluateArgs, dataset: Dataset, metric: Metric) -> Evaluation:
    """Metrics of the saved model and the saved baseline on the test part, on the same examples."""
    x, y = dataset.test.x, dataset.test.y
    outputs = predict(load_model(args.model_path), x)
    other = None if args.baseline_path is None else predict(load_model(args.baseline_path), x)
    only_model = only_baseline = None
    if other is not None and dataset.num_classes is not None and outputs.ndim == 2:
        right, other_right = correct(y, outputs), correct(y, other)
        only_model = int(np.sum(right & ~other_right))
        only_baseline = int(np.sum(other_right & ~right))
    return Evaluation(
        examples=len(y),
        metric=metric(y, outputs),
        baseline_metric=None if other is None else metric(y, other),
        only_model=only_model,
        only_baseline=only_baseline,
    )


def export(args: ExportArgs, dataset: Dataset) -> None:
    """Write the SavedModel for serving, and a reference of inputs and what the trained model predicts for them.

    The inputs are from the validation part: the test part is touched once, by `evaluate`.
    """
    model = load_model(args.model_path)
    model.export(args.saved_model_path, format="tf_saved_model", verbose=False)
    x = dataset.validation.x[: args.examples]
    np.savez(args.reference_path, x=x, y=predict(model, x))


def reload_difference(args: ReloadArgs) -> float:
    """Largest absolute difference between the reference and what the reloaded model predicts.

    Args:
        args: `path` is a `.keras` file or a SavedModel folder; `policy` is set before it is loaded.
    """
    keras.config.set_dtype_policy(args.policy)
    with np.load(args.reference_path) as reference:
        x, expected = reference["x"], reference["y"]
    found = _serve(args.path, x) if Path(args.path).is_dir() else predict(load_model(args.path), x)
    return float(np.max(np.abs(np.asarray(found, dtype=np.float32) - expected)))


def _serve(path: str, x: Any) -> Any:
    layer = keras.layers.TFSMLayer(path, call_endpoint="serve", dtype="float32")
    parts = [np.asarray(layer(x[i : i + EVALUATION_BATCH])) for i in range(0, len(x), EVALUATION_BATCH)]
    return np.concatenate(parts)
