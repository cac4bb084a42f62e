"""What is sound is left alone: the models of this package, three of Keras's applications, and a residual net."""

from __future__ import annotations

import pytest

from autotune.explain.findings import Severity, findings
from tests.explain.inspected import facts, situation

pytestmark = pytest.mark.slow

# What is true of each on an RTX 2060, beyond what any small batch shows; everything else would be a false alarm.
SMALL_BATCH = {"host-bound", "steps-per-call", "many-small-kernels"}
SOUND = [
    ("autotune.models.cifar.mlp", "small images", (3000, 1000), "sgd", set()),
    ("autotune.models.cifar.cnn", "small images", (32, 64, 128), "adam", {"few-channels"}),
    ("autotune.models.digits.mlp", "grey", (64, 64), "rmsprop", set()),
]
# As Keras's applications do, they end in a softmax of the policy's dtype: that is no false alarm.
NETS = [
    pytest.param("mobilenet", {"grouped-convolution"}, marks=pytest.mark.long),
    # Without normalisation they do vanish in so deep a net.
    pytest.param("vgg16", {"gradients-need-scaling"}, marks=pytest.mark.long),
    pytest.param("resnet50", set(), marks=pytest.mark.long),
    ("residual", {"few-channels"}),
]


@pytest.mark.parametrize(("builder", "data", "widths", "optimizer", "true"), SOUND)
def test_models_of_this_package(
    builder: str, data: str, widths: tuple[int, ...], optimizer: str, true: set[str]
) -> None:
    found = findings(situation(facts(builder, data, optimizer=optimizer, widths=widths), optimizer=optimizer))
    assert {one.kind for one in found} <= SMALL_BATCH | true
    assert all(one.severity is not Severity.PROBLEM for one in found)


@pytest.mark.parametrize(("builder", "true"), NETS)
def test_nets_of_many_convolutions(builder: str, true: set[str]) -> None:
    anatomy = facts(f"tests.explain.peculiar.{builder}", "small images", batch_size=8, optimizer="sgd")
    found = findings(situation(anatomy, batch_size=8, optimizer="sgd"))
    assert {one.kind for one in found} <= SMALL_BATCH | true | {"output-16-bit", "memory-bound"}
    assert [one.kind for one in found if one.severity is Severity.PROBLEM] == ["output-16-bit"]
