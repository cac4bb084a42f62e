from __future__ import annotations

import itertools

import pytest

from autotune.config.hardware import DeviceKind
from autotune.hardware.catalogue import bundled
from autotune.hardware.profile import Profile
from autotune.hardware.roofline import Work, WorkKind, batch_bound, predict_step_time_ms

# 1 TFLOP/s and 100 GB/s in float32, 8 TFLOP/s in float16: numbers to work out by hand.
TOY = Profile(
    "toy",
    "toy",
    DeviceKind.gpu,
    bandwidth_gb_s=100.0,
    peaks=(("float16", 8.0), ("float32", 1.0)),
    tensor_cores=frozenset({"float16"}),
)
DENSE = Work("dense", flops_per_example=2e6, weight_params=1_000_000, activation_elements_per_example=2000)


def mlp(*sizes: int) -> list[Work]:
    pairs = itertools.pairwise(sizes)
    return [Work(f"dense{i}", 2 * a * b, a * b + b, a + b) for i, (a, b) in enumerate(pairs)]


CIFAR_MLP = mlp(3072, 3000, 1000, 10)


def test_a_compute_bound_layer_by_hand() -> None:
    found = predict_step_time_ms(TOY, [DENSE], "float32", 1000, overhead_ms=0.5)
    assert found is not None
    # 2e6 FLOPs x 1000 x 3 passes / 1e12 per s = 6 ms; bytes: 3 x 4 x (1e6 + 2e6) / 1e11 = 0.36 ms
    assert found.compute_ms == pytest.approx(6.0)
    # SGD reads the gradient, reads and writes the weight: 12 bytes x 1e6 / 1e11 = 0.12 ms
    assert found.optimizer_ms == pytest.approx(0.12)
    assert found.step_time_ms == pytest.approx(6.62)


def test_a_memory_bound_layer_by_hand() -> None:
    found = predict_step_time_ms(TOY, [DENSE], "mixed_float16", 10, optimizer_slots=2)
    assert found is not None
    # 3 x 2 bytes x (1e6 + 2e4) / 1e11 = 0.0612 ms, against 3 x 2e7 / 8e12 = 0.0075 ms of FLOPs
    assert found.compute_ms == pytest.approx(0.0612)
    # Adam: 4 x (3 + 2 x 2) + 6 for the 16-bit copy = 34 bytes x 1e6 / 1e11 = 0.34 ms
    assert found.optimizer_ms == pytest.approx(0.34)


def test_a_layer_without_matmul_costs_its_bytes_only() -> None:
    work = Work("relu", 1e9, 0, 1000, WorkKind.memory)
    found = predict_step_time_ms(TOY, [work], "float32", 1000, overhead_ms=0.0)
    assert found is not None
    assert found.step_time_ms == pytest.approx(3 * 4 * 1e6 / 1e8)


def test_a_prediction_says_that_it_is_one() -> None:
    found = predict_step_time_ms(bundled("rtx2060"), CIFAR_MLP, "mixed_float16", 32)
    assert found is not None
    assert "not measured" in found.assumptions[0]
    assert any("25.8 TFLOP/s" in text for text in found.assumptions)
    assert any("5.7 ms" in text for text in found.assumptions)


def test_unknown_peaks_give_no_prediction() -> None:
    assert predict_step_time_ms(bundled("rtx2060"), CIFAR_MLP, "mixed_bfloat16", 32) is None
    assert predict_step_time_ms(bundled("gtx1080ti"), CIFAR_MLP, "mixed_float16", 32) is None
    assert predict_step_time_ms(bundled("cpu_amx"), CIFAR_MLP, "float32", 32) is None
    assert predict_step_time_ms(bundled("tpu_v4"), CIFAR_MLP, "float32", 32) is None
    assert predict_step_time_ms(bundled("tpu_v4"), CIFAR_MLP, "mixed_bfloat16", 32) is not None
    assert predict_step_time_ms(TOY, CIFAR_MLP, "float8", 32) is None


def test_float32_on_ampere_runs_in_tf32() -> None:
    found = predict_step_time_ms(bundled("a100_sxm4_40gb"), CIFAR_MLP, "float32", 8192)
    assert found is not None
    assert found.compute_dtype == "tf32"
    assert any("156 TFLOP/s" in text for text in found.assumptions)


def ratio(profile: str, batch_size: int) -> float:
    times = [
        predict_step_time_ms(bundled(profile), CIFAR_MLP, policy, batch_size) for policy in ("float32", "mixed_float16")
    ]
    float32, mixed = times
    assert float32 is not None
    assert mixed is not None
    return float32.step_time_ms / mixed.step_time_ms


def test_the_published_shape_of_mixed_precision_is_reproduced() -> None:
    found = predict_step_time_ms(bundled("rtx2080"), CIFAR_MLP, "float32", 32)
    assert found is not None
    # Published: 501 s for 50 epochs of 1,562.5 steps, and 1.08x under mixed precision.
    assert found.step_time_ms == pytest.approx(501e3 / 50 / 1562.5, rel=0.02)
    assert 0.95 < ratio("rtx2080", 32) < 1.1, "host-bound: mixed precision hardly matters"
    assert ratio("rtx2060", 8192) > 2.5, "compute-bound: it does"
    assert ratio("h100_sxm5_80gb", 32) < 1.05


def test_batch_bound_by_hand() -> None:
    # 0.9 x 1e9 bytes; SGD: 1e6 x 8 = 8e6 fixed; 1e4 activations x 2 x 4 bytes = 8e4 an example
    assert batch_bound(1.0, 1_000_000, 10_000, "float32") == 11_150
    # 1e6 x (8 + 2) = 1e7 fixed; 4e4 bytes an example
    assert batch_bound(1.0, 1_000_000, 10_000, "mixed_float16") == 22_250
    assert batch_bound(1.0, 1_000_000, 10_000, "float32", optimizer_slots=2) == 11_050


def test_batch_bound_knows_what_it_does_not_know() -> None:
    assert batch_bound(None, 1, 1, "float32") is None
    assert batch_bound(1.0, 1, None, "float32") is None
    assert batch_bound(1.0, 1, 1, "float8") is None
    assert batch_bound(0.001, 10_000_000, 1, "float32") == 0
