"""What is counted on the test part, and how a reloaded model is compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.worker.protocol import EvaluateArgs, ExportArgs, ReloadArgs
from tests.worker import people

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras under NumPy 2
]


def saved(path: Path, *, outputs: int, bias: float = 0.0) -> str:
    import keras

    initial = keras.initializers.Constant(bias)
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(outputs, bias_initializer=initial)]).save(path)
    return str(path)


def evaluation(tmp_path: Path, metric: str, outputs: int) -> Any:
    from autotune.worker.child.artifacts import evaluate
    from autotune.worker.child.train import Metric

    one, other = (saved(tmp_path / name, outputs=outputs) for name in ("one.keras", "other.keras"))
    (tmp_path / "persons.py").write_text("def mean_score(y_true, y_pred): return float(y_pred.mean())\n")
    config = people.config(metric=metric)
    return evaluate(EvaluateArgs(one, other), people.dataset(), Metric(config), config.model._target_)


@pytest.mark.parametrize(
    ("metric", "outputs", "counted"),
    [
        ("autotune.worker.metrics.accuracy", 3, True),
        ("autotune.worker.metrics.error_rate", 3, True),
        ("autotune.worker.metrics.mean_absolute_error", 1, False),
        ("persons.mean_score", 3, False),
    ],
)
def test_right_and_wrong_are_counted_for_accuracy_and_error_alone(
    tmp_path: Path, metric: str, outputs: int, counted: bool
) -> None:
    found = evaluation(tmp_path, metric, outputs)
    assert found.metric is not None
    assert (found.only_model is not None, found.only_baseline is not None) == (counted, counted)


@pytest.mark.parametrize(
    ("metric", "size", "scale"),
    [
        ("autotune.worker.metrics.accuracy", 0.5, 1.0),
        ("autotune.worker.metrics.accuracy", 1000.0, 1000.0),
        ("autotune.worker.metrics.mean_absolute_error", 0.01, 0.01),
        ("autotune.worker.metrics.mean_absolute_error", 1000.0, 1000.0),
    ],
)
def test_a_difference_is_relative_to_the_outputs_and_that_of_small_class_scores_absolute(
    tmp_path: Path, metric: str, size: float, scale: float
) -> None:
    """A model that predicts twice what it should: a regression on small values is another model then."""
    from autotune.worker.child.artifacts import export, reload_difference

    classes = metric.endswith("accuracy")
    data = people.dataset()
    blank = replace(data.validation, x=np.zeros_like(data.validation.x))
    data = replace(data, num_classes=data.num_classes if classes else None, validation=blank)
    path = saved(tmp_path / "model.keras", outputs=1, bias=size)
    reference = tmp_path / "reference.npz"
    export(ExportArgs(path, str(tmp_path / "saved_model"), str(reference)), data, people.config().model._target_)
    other = saved(tmp_path / "other.keras", outputs=1, bias=2 * size)
    assert reload_difference(ReloadArgs(other, str(reference), "float32")) == pytest.approx(size / scale)


@pytest.mark.parametrize(
    ("shape", "examples"),
    [((32, 32, 3), 500), ((28, 28, 1), 500), ((224, 224, 3), 27), ((4096, 4096, 1), 1), ((), 500)],
)
def test_large_examples_are_evaluated_a_few_at_a_time(shape: tuple[int, ...], examples: int) -> None:
    from autotune.worker.child.train import evaluation_batch

    assert evaluation_batch(shape) == examples
