"""`task=explain` for a person with the five-line model of the public question: both true causes, without a training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.person import Person

pytestmark = pytest.mark.slow

FIVE_LINES = """
import keras

def build(*, widths, input_shape, num_classes):
    return keras.Sequential([
        keras.Input(input_shape), keras.layers.Flatten(), keras.layers.Dense(widths[0], "relu"),
        keras.layers.Dense(widths[1], "relu"), keras.layers.Dense(num_classes, "softmax"),
    ])
"""

COMMAND = (
    *("task=explain", "--trust", "five", "model=cifar_mlp", "model.name=five", "model._target_=five.build"),
    *("data=digits", "hw=rtx2080"),
)


def test_both_causes_and_the_remedy_are_told(tmp_path: Path) -> None:
    person = Person(tmp_path)
    (tmp_path / "five.py").write_text(FIVE_LINES)
    done = person.autotune(*COMMAND)
    assert done.returncode == 0, done.stdout + done.stderr
    [written] = tmp_path.glob("outputs/*/*/explain.json")
    explained = json.loads(written.read_text())
    found = {one["kind"]: one for one in explained["findings"]}
    assert found["output-16-bit"]["severity"] == "problem"
    assert 'dtype="float32"' in found["output-16-bit"]["fix"]
    assert "train.batch_size=" in found["host-bound"]["fix"]
    assert "host-bound at batch 32" in explained["answer"]
    assert "host-bound at batch 32" in done.stdout
    assert explained["own"]["setting"]["policy"] == "float32"
    assert (written.parent / "explain.md").read_text().startswith("# five on NVIDIA GeForce RTX 2080")
    assert not list(tmp_path.glob("outputs/**/record.jsonl"))  # it is no study
    assert person.running() == []


@pytest.mark.long
def test_a_model_that_cannot_be_built_is_one_line(tmp_path: Path) -> None:
    person = Person(tmp_path)
    (tmp_path / "five.py").write_text(FIVE_LINES.replace("widths[1]", "widths[7]"))
    done = person.autotune(*COMMAND)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "the model cannot be explained" in line
    assert "the builder five.build failed" in line
    assert not (tmp_path / "outputs").exists()
