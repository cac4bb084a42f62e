"""A true study in which float16 is too small for a model, whose layers fall back to float32 one after another."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from autotune.record import events as ev
from autotune.record.lines import read
from autotune.record.view import StudyView
from autotune.trial import FailureKind, Stage, TrialState
from tests.end_to_end.person import Person, run_folders, study_with

pytestmark = [pytest.mark.slow, pytest.mark.long]

WIDE = """
    import keras

    def build(*, widths, input_shape, num_classes):
        inputs = keras.Input(input_shape)
        x = keras.layers.Dense(64, activation="tanh", name="quiet")(inputs)
        large = keras.initializers.RandomNormal(stddev=1e6)
        x = keras.layers.Dense(48, kernel_initializer=large, name="large")(x)
        x = keras.layers.Rescaling(1e-6, name="small")(x)
        return keras.Model(inputs, keras.layers.Dense(num_classes, activation="softmax", name="class")(x))
    """
"""A model whose activations float16 does not hold, between two of its layers."""


def view_of(person: Person) -> tuple[Path, StudyView]:
    [folder] = run_folders(person)
    return folder, StudyView.of(read(folder / "record.jsonl"))


def test_float16_that_overflows_is_mended_layer_by_layer(tmp_path):
    person = Person(tmp_path)
    (tmp_path / "models" / "wide.py").write_text(textwrap.dedent(WIDE), encoding="utf-8")
    (tmp_path / "my_conf" / "model" / "wide.yaml").write_text("name: wide\n_target_: models.wide.build\nwidths: []\n")
    only = ("search.policies=[mixed_float16]", "search.batch_sizes=[128]", "search.fallback=true", "search.budget=null")
    done = person.autotune(*study_with("tracking=off", "model=wide", *only))
    assert done.stderr == ""
    folder, view = view_of(person)
    [harm] = [event for event in read(folder / "record.jsonl") if isinstance(event, ev.HarmMeasured)]
    assert harm.failure is None
    assert {layer.layer: layer.error is None for layer in harm.layers} == {"quiet": False, "large": True, "small": True}
    tried = [trial for number, trial in sorted(view.trials.items()) if number]
    assert [trial.candidate.policy.float32_layers for trial in tried] == [(), ("large",), ("large", "small")]
    assert [trial.failure.kind for trial in tried[:2]] == [FailureKind.NAN] * 2
    mended = tried[2]
    assert mended.failure is None, mended.failure
    dtypes = {layer.name: layer.compute_dtype for layer in mended.probe.effect.layers}
    assert dtypes == {"quiet": "float16", "large": "float32", "small": "float32", "class": "float32"}
    assert mended.probe.effect.loss_scaling
    # A batch of 128 is several times as fast as one of 16 in whatever dtype; the accuracy is the study's to find out.
    assert mended.probe.examples_per_s > view.baseline.probe.examples_per_s
    if mended.state is not TrialState.SLOWER:
        assert Stage.VERIFY in mended.runs
    if view.decided.winner == mended.number:
        best = (folder / "export" / "best.yaml").read_text(encoding="utf-8")
        assert "  float32_layers:\n  - large\n  - small\n" in best
        settings = ("--config-dir", str(folder / "export"), "--config-name", "best", "--trust", "models")
        trained = person.autotune(*settings, "--trust", "clusters", "--trust", "scores")
        assert trained.returncode == 0, trained.stderr
        assert "training mixed_float16 (float32: large, small) batch=128" in trained.stdout
