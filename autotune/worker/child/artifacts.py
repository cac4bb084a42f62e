"""Exported models: evaluation on the test part, the SavedModel, and the check that reloading predicts the same."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

from autotune.data import Dataset
from autotune.errors import TrialFault
from autotune.targets import resolve
from autotune.trial import FailureKind
from autotune.worker.child.train import Metric, evaluation_batch, predict
from autotune.worker.metrics import ACCURACY, ERROR_RATE, correct
from autotune.worker.protocol import EvaluateArgs, Evaluation, ExportArgs, ReloadArgs


def load_model(path: str, builder: str | None, *, compiled: bool = True) -> keras.Model:
    """A saved `.keras` model, each layer under its own policy, with what the builder's module defines.

    Raises:
        TrialFault: it does not load.
    """
    try:
        own = _own_objects(builder) if builder else None
        return keras.models.load_model(path, custom_objects=own, compile=compiled)
    except (TypeError, ValueError, NotImplementedError) as error:
        reason = str(error).strip().rpartition("Exception encountered: ")[2]  # Keras puts the whole config before it
        raise TrialFault(
            FailureKind.INVALID, f"{Path(path).name} does not load: {' '.join(reason.split())[:300]}"
        ) from error


def _own_objects(builder: str) -> dict[str, Any]:
    """Classes and functions of the builder's module: Keras itself finds only those that are registered with it."""
    function = resolve(builder, "model._target_")
    modules = {builder.rpartition(".")[0], getattr(function, "__module__", "")} & sys.modules.keys()
    named = {name: value for module in modules for name, value in vars(sys.modules[module]).items()}
    return {
        name: value
        for name, value in named.items()
        if (isinstance(value, type) or inspect.isfunction(value)) and not hasattr(keras.activations, name)
    }


def evaluate(
    args: EvaluateArgs, dataset: Dataset, metric: Metric, builder: str, alive: Callable[[], None] = lambda: None
) -> Evaluation:
    """Metrics of the saved model and the saved baseline on the test part, on the same examples.

    `alive` is called after each batch.
    """
    x, y = dataset.test.x, dataset.test.y
    outputs = predict(load_model(args.model_path, builder), x, alive)
    other = None if args.baseline_path is None else predict(load_model(args.baseline_path, builder), x, alive)
    only_model, only_baseline = (None, None) if other is None else _discordant(metric, y, outputs, other)
    return Evaluation(
        examples=len(y),
        metric=metric(y, outputs),
        baseline_metric=None if other is None else metric(y, other),
        only_model=only_model,
        only_baseline=only_baseline,
    )


def _discordant(metric: Metric, y: Any, outputs: Any, other: Any) -> tuple[int | None, int | None]:
    """How many examples only the model has right, and only the baseline; None where right and wrong say nothing.

    They give an interval of the difference in accuracy, and of that in error with its sign turned: above zero the model
    is better in both. They say nothing of a person's own metric.
    """
    if metric.name not in (ACCURACY, ERROR_RATE) or outputs.ndim != 2 or outputs.shape[1] < 2:
        return None, None
    right, other_right = correct(y, outputs), correct(y, other)
    return int(np.sum(right & ~other_right)), int(np.sum(other_right & ~right))


def export(args: ExportArgs, dataset: Dataset, builder: str) -> None:
    """Write the SavedModel for serving, and a reference of inputs and what the trained model predicts for them.

    The inputs are from the validation part: the test part is touched once, by `evaluate`.
    """
    model = load_model(args.model_path, builder)
    model.export(args.saved_model_path, format="tf_saved_model", verbose=False)
    x = dataset.validation.x[: args.examples]
    y = predict(model, x)
    np.savez(args.reference_path, x=x, y=y, scale=_scale(y, dataset.num_classes is not None))


def _scale(outputs: Any, classes: bool) -> float:
    """What differences of outputs are set against: the largest of them, and of class scores at least 1.

    A probability's rounding counts as it is; that of a regression on large values does not count as another model, and
    a regression on small ones is no other model only if it predicts the same small ones.
    """
    largest = float(np.max(np.abs(outputs)))
    return max(1.0 if classes else float(np.finfo(np.float32).tiny), largest)


def reload_difference(args: ReloadArgs) -> float:
    """Largest difference between the reference and what the reloaded model predicts, over the reference's `_scale`.

    Args:
        args: `path` is a `.keras` file or a SavedModel folder; `policy` is set before it is loaded.

    Raises:
        TrialFault: it does not load, or one of the two is not finite, so that there is no difference to tell.
    """
    keras.config.set_dtype_policy(args.policy)
    with np.load(args.reference_path) as reference:
        x, expected, scale = reference["x"], reference["y"], float(reference["scale"])
    found = _serve(args.path, x) if Path(args.path).is_dir() else predict(load_model(args.path, args.builder), x)
    difference = float(np.max(np.abs(np.asarray(found, dtype=np.float32) - expected))) / scale
    if not math.isfinite(difference):
        raise TrialFault(
            FailureKind.NAN, f"{Path(args.path).name} predicts values that are not finite, or did when it was exported"
        )
    return difference


def _serve(path: str, x: Any) -> Any:
    layer = keras.layers.TFSMLayer(path, call_endpoint="serve", dtype="float32")
    size = evaluation_batch(x.shape[1:])
    parts = [np.asarray(layer(x[i : i + size])) for i in range(0, len(x), size)]
    return np.concatenate(parts)
