"""The CIFAR-10 builders: sizes worked out by hand, and what layers compute in under a policy."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def keras() -> ModuleType:
    return pytest.importorskip("keras")


@pytest.fixture
def policy(keras: ModuleType, request: pytest.FixtureRequest) -> Iterator[str]:
    """The global policy of one test; float32 again after it."""
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy("float32")


@pytest.fixture(scope="module")
def cifar(keras: ModuleType) -> ModuleType:
    from autotune.models import cifar

    return cifar


def images(count: int = 2) -> np.ndarray:
    return np.random.default_rng(0).random((count, 32, 32, 3), dtype=np.float32)


def test_mlp_has_the_public_questions_size(cifar: ModuleType) -> None:
    model = cifar.mlp(widths=(3000, 1000), input_shape=(32, 32, 3), num_classes=10)
    assert model.output_shape == (None, 10)
    # (3072 + 1) * 3000 + (3000 + 1) * 1000 + (1000 + 1) * 10
    assert model.count_params() == 9_219_000 + 3_001_000 + 10_010


def test_cnn_has_the_size_worked_out_by_hand(cifar: ModuleType) -> None:
    model = cifar.cnn(widths=(32, 64, 128), input_shape=(32, 32, 3), num_classes=10)
    convolutions = 9 * (3 * 32 + 32 * 64 + 64 * 128)  # no bias
    normalisations = 4 * (32 + 64 + 128)  # scale, offset, moving mean and variance
    head = (128 + 1) * 10
    assert model.count_params() == convolutions + normalisations + head
    assert model.get_layer("mean").input.shape == (None, 4, 4, 128)


def test_cnn_depth_adds_convolutions_to_each_stage(cifar: ModuleType) -> None:
    shallow = cifar.cnn(widths=(8, 16), depth=1)
    deep = cifar.cnn(widths=(8, 16), depth=2)
    # one more block a stage: a 3x3 convolution of equal width and its normalisation
    added = (9 * 8 * 8 + 4 * 8) + (9 * 16 * 16 + 4 * 16)
    assert deep.count_params() - shallow.count_params() == added


def test_widths_are_the_layers_sizes_in_order(cifar: ModuleType) -> None:
    mlp = cifar.mlp(widths=(24, 16, 8))
    assert [mlp.get_layer(f"hidden_{n}").units for n in (1, 2, 3)] == [24, 16, 8]
    cnn = cifar.cnn(widths=(8, 24))
    assert [cnn.get_layer(f"conv_{n}_1").filters for n in (1, 2)] == [8, 24]


@pytest.mark.parametrize("builder", ["mlp", "cnn"])
def test_a_builder_takes_shape_and_classes_from_the_data(cifar: ModuleType, builder: str) -> None:
    model = getattr(cifar, builder)(widths=(8, 8), input_shape=(28, 28, 1), num_classes=7)
    assert model.input_shape == (None, 28, 28, 1)
    assert model.output_shape == (None, 7)


@pytest.mark.parametrize("builder", ["mlp", "cnn"])
@pytest.mark.parametrize(
    ("policy", "compute", "variable"),
    [
        ("float32", "float32", "float32"),
        ("mixed_float16", "float16", "float32"),
        ("mixed_bfloat16", "bfloat16", "float32"),
        ("float16", "float16", "float16"),
        ("bfloat16", "bfloat16", "bfloat16"),
    ],
    indirect=["policy"],
)
def test_hidden_layers_follow_the_policy_and_the_output_is_float32(
    keras: ModuleType,
    cifar: ModuleType,
    builder: str,
    policy: str,
    compute: str,
    variable: str,
) -> None:
    model = getattr(cifar, builder)(widths=(16, 8))
    *inner, head = [x for x in model.layers if not isinstance(x, keras.layers.InputLayer)]
    # What a layer hands on shows what it computed in; its policy is only what was asked for.
    probe = keras.Model(model.input, [layer.output for layer in inner])
    handed_on = {str(keras.backend.standardize_dtype(x.dtype)) for x in probe(images())}
    assert handed_on == {compute}
    assert {x.variable_dtype for x in inner} == {variable}
    assert head.compute_dtype == head.variable_dtype == "float32"

    probabilities = model(images())
    assert keras.backend.standardize_dtype(probabilities.dtype) == "float32"
    np.testing.assert_allclose(np.asarray(probabilities).sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("builder", ["mlp", "cnn"])
def test_the_callers_seed_decides_the_weights(keras: ModuleType, cifar: ModuleType, builder: str) -> None:
    def weights(seed: int) -> list[np.ndarray]:
        keras.utils.set_random_seed(seed)
        return list(getattr(cifar, builder)(widths=(8, 8)).get_weights())

    first, again, other = weights(1), weights(1), weights(2)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
