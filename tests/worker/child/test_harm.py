"""How much each layer harms in 16 bit: measured on models of which it is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.trial import LayerHarm
from tests.worker import people
from tests.worker.child.test_mixed import NETS, candidate

pytestmark = pytest.mark.slow

MORE = '''

def faint(*, widths, input_shape, num_classes):
    """Gradients of some 1e-8 behind a layer: float16 has none of them unless the loss is scaled."""
    inputs = keras.Input(input_shape)
    x = layers.Dense(8, activation="tanh", name="first")(inputs)
    x = layers.Rescaling(1e-8, name="faint")(x)
    return keras.Model(inputs, layers.Dense(num_classes, activation="softmax", name="class")(x))


def cancelling(*, widths, input_shape, num_classes):
    """1000 is added, which rounds what was there to steps of a half (float16) or 4 (bfloat16), and taken away again."""
    inputs = keras.Input(input_shape)
    x = layers.Dense(8, activation="tanh", name="first")(inputs)
    x = layers.Rescaling(1.0, offset=1000.0, name="up")(x)
    x = layers.Rescaling(1.0, offset=-1000.0, name="down", dtype="float32")(x)
    x = layers.Dropout(0.5, name="drop")(x)
    x = layers.BatchNormalization(name="norm")(x)
    return keras.Model(inputs, layers.Dense(num_classes, activation="softmax", name="class")(x))
'''


@pytest.fixture(autouse=True)
def _nets(tmp_path: Path) -> None:
    """In the place of the person's own, in a module that they trust."""
    (tmp_path / "nets.py").write_text(NETS + MORE, encoding="utf-8")


def harms(net: str, name: str = "mixed_float16") -> dict[str, LayerHarm]:
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.harm import measured
    from autotune.worker.protocol import HarmArgs

    config, asked = people.config(build=f"nets.{net}"), candidate(name=name)
    builder = ModelBuilder(config, (4,), 3)
    args = HarmArgs(asked, people.recipe(asked, config), seed=5)
    return {harm.layer: harm for harm in measured(builder, people.dataset().train, args)}


def test_what_overflows_is_not_finite_and_only_that() -> None:
    found = harms("overflowing")
    assert {layer: harm.error is None for layer, harm in found.items()} == {
        "quiet": False,
        "large": True,
        "small": True,
    }, "the class layer is float32 whatever the policy"
    assert 0 < found["quiet"].error < 0.01
    assert [harm.parameters for harm in found.values()] == [40, 72, 0]
    finite = harms("overflowing", "mixed_bfloat16")
    assert all(harm.error is not None and harm.error < 0.1 for harm in finite.values()), "bfloat16 holds it"


def test_the_layer_that_loses_digits_harms_most() -> None:
    for name in ("mixed_float16", "mixed_bfloat16"):
        found = harms("cancelling", name)
        assert set(found) == {"first", "up", "norm"}, "in 16 bit dropout would only draw other numbers"
        worst = max(found.values(), key=lambda harm: harm.error)
        assert worst.layer == "up"
        assert worst.error > 5 * max(harm.error for harm in found.values() if harm.layer != "up")


def test_passes_differ_in_nothing_but_the_layer() -> None:
    """Dropout and moving averages are put back, so that one layer's figure does not depend on those before it."""
    assert harms("cancelling") == harms("cancelling")


def test_in_float16_the_loss_is_scaled_as_in_training() -> None:
    """Unscaled, the first layer's gradient would be all zero in float16, an error of one."""
    assert harms("faint")["first"].error < 0.05
