"""What is sound is left alone: the models of this package, and three of Keras's applications."""

from __future__ import annotations

from dataclasses import replace

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
# Keras's applications end in a softmax of the policy's dtype: that is no false alarm.
APPLICATIONS = [
    ("vgg", {"gradients-need-scaling"}),  # measured: without normalisation, 8 % of its gradients would be zero
    ("mobilenet", {"grouped-convolution"}),
    ("resnet", set()),
]


@pytest.mark.parametrize(("builder", "data", "widths", "optimizer", "true"), SOUND)
def test_models_of_this_package(
    builder: str, data: str, widths: tuple[int, ...], optimizer: str, true: set[str]
) -> None:
    anatomy = replace(facts(builder, data, optimizer=optimizer, widths=widths), feed_ms=None)  # others use the machine
    where = situation(anatomy, optimizer=optimizer)
    found = findings(where)
    assert {one.kind for one in found} <= SMALL_BATCH | true
    assert all(one.severity is not Severity.PROBLEM for one in found)


@pytest.mark.timeout(1200)  # a ResNet50's step has thousands of operations, and is traced three times
@pytest.mark.parametrize(("builder", "true"), APPLICATIONS)
def test_applications_of_keras(builder: str, true: set[str]) -> None:
    anatomy = replace(facts(builder, "small images", batch_size=8, optimizer="sgd"), feed_ms=None)
    found = findings(situation(anatomy, batch_size=8, optimizer="sgd"))
    assert {one.kind for one in found} <= SMALL_BATCH | true | {"output-16-bit", "memory-bound"}
    assert [one.kind for one in found if one.severity is Severity.PROBLEM] == ["output-16-bit"]
