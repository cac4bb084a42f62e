"""The guide's digits perceptron: sizes worked out by hand, and a float32 output."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("widths", "parameters"),
    [
        # 784 * w + w, w * w + w, w * 10 + 10
        ((4096, 4096), 3_215_360 + 16_781_312 + 40_970),
        ((64, 64), 50_240 + 4_160 + 650),
    ],
)
def test_mlp_has_the_guides_size(widths: tuple[int, ...], parameters: int) -> None:
    from autotune.models import digits

    model = digits.mlp(widths=widths, input_shape=(28, 28, 1), num_classes=10)
    assert model.count_params() == parameters
    assert model.output_shape == (None, 10)


def test_output_is_float32_under_a_16_bit_policy() -> None:
    import keras

    from autotune.models import digits

    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = digits.mlp(widths=(8, 8), input_shape=(8, 8, 1))
    finally:
        keras.config.set_dtype_policy("float32")
    assert [model.get_layer(f"hidden_{n}").compute_dtype for n in (1, 2)] == ["bfloat16"] * 2
    assert model.output.dtype == "float32"
