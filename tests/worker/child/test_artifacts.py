"""What is counted on the test part, and how a reloaded model is compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.worker.protocol import EvaluateArgs, ReloadArgs
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
        ("autotune.worker.metrics.mean_absolute_error", 1, False),
        ("persons.mean_score", 3, False),
    ],
)
def test_right_and_wrong_are_counted_for_accuracy_alone(
    tmp_path: Path, metric: str, outputs: int, counted: bool
) -> None:
    found = evaluation(tmp_path, metric, outputs)
    assert found.metric is not None
    assert (found.only_model is not None, found.only_baseline is not None) == (counted, counted)


@pytest.mark.parametrize(("size", "difference"), [(1000.0, 1e-3), (0.5, 1.0)])
def test_a_difference_is_relative_to_large_outputs_and_absolute_for_small_ones(
    tmp_path: Path, size: float, difference: float
) -> None:
    """The model is off by one from its reference of one size."""
    from autotune.worker.child.artifacts import reload_difference

    path = saved(tmp_path / "model.keras", outputs=1, bias=size + 1)
    reference = tmp_path / "reference.npz"
    np.savez(reference, x=np.zeros((8, 4), np.float32), y=np.full((8, 1), size, np.float32))
    assert reload_difference(ReloadArgs(path, str(reference), "float32")) == pytest.approx(difference)
