from __future__ import annotations

import pickle

import pytest

from autotune.config.hardware import DeviceKind, HardwareConfig
from autotune.errors import ConfigError, HardwareError
from autotune.hardware.catalogue import bundled, bundled_profiles
from autotune.hardware.profile import Profile, parse_compute_capability


def test_a_profile_is_a_value() -> None:
    config = HardwareConfig(
        name="x",
        title="X",
        kind=DeviceKind.gpu,
        compute_capability="12.0",
        peak_tflops={"float32": 2.0},
        tensor_cores=["float16", "bfloat16", "tf32", "float8"],
    )
    profile = Profile.from_config(config)
    config.peak_tflops["float32"] = 9.0
    assert profile.peak_tflops("float32") == 2.0
    assert profile.compute_capability == (12, 0)
    assert hash(profile) == hash(pickle.loads(pickle.dumps(profile)))


def test_a_profile_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"hw\.name"):
        Profile.from_config(HardwareConfig())


def test_unknown_is_none_never_zero() -> None:
    bare = Profile("x", "X", DeviceKind.gpu)
    assert bare.peak_tflops("float32") is None
    assert bare.memory_gb is None
    assert bundled("rtx2060").peak_tflops("bfloat16") is None
    assert parse_compute_capability(None) is None


def test_compute_capabilities_compare_as_pairs() -> None:
    ten, eight_nine = parse_compute_capability("10.0"), parse_compute_capability("8.9")
    assert ten is not None
    assert eight_nine is not None
    assert ten > eight_nine


@pytest.mark.parametrize(
    ("name", "dtype", "features", "batch"),
    [
        ("rtx2060", "float16", 8, 8),
        ("rtx2060", "float32", 4, 4),
        ("rtx3090", "bfloat16", 8, 8),
        ("l40s", "float8", 16, 16),
        ("rtx5090", "float16", 8, 8),
        ("a100_sxm4_40gb", "float16", 64, 64),
        ("a100_sxm4_40gb", "tf32", 32, 32),
        ("h100_pcie_80gb", "float8", 128, 128),
        ("b200", "bfloat16", 64, 64),
        ("tpu_v4", "bfloat16", 128, 8),
        ("tpu_v6e", "float32", 256, 8),
        ("cpu_amx", "bfloat16", 32, 16),
        ("cpu_amx", "float32", 16, 1),
        ("cpu_zen4", "bfloat16", 32, 1),
        ("cpu_avx2", "float32", 8, 1),
    ],
)
def test_alignment(name: str, dtype: str, features: int, batch: int) -> None:
    profile = bundled(name)
    assert profile.alignment(dtype) == features
    assert profile.batch_alignment(dtype) == batch
    assert profile.alignment_reason(dtype)


def test_alignment_of_an_unknown_dtype_is_a_fault() -> None:
    with pytest.raises(ValueError, match="but got 'int4'"):
        bundled("rtx2060").alignment("int4")


def test_the_peak_of_a_cpu_follows_from_its_cores_and_clock() -> None:
    config = HardwareConfig(
        name="x",
        title="X",
        kind=DeviceKind.cpu,
        sm_count=56,
        boost_mhz=2000.0,
        flop_per_clock_per_core={"float32": 64, "bfloat16": 1024},
    )
    # 64 FLOP x 56 cores x 2e9 clocks/s = 7.168e12
    assert Profile.from_config(config).peak_tflops("float32") == pytest.approx(7.168)
    assert bundled("cpu_amx").peak_tflops("float32") is None


def test_bundled_profiles() -> None:
    names = [profile.name for profile in bundled_profiles()]
    assert names == sorted(set(names))
    assert "auto" not in names
    with pytest.raises(HardwareError, match="but got 'rtx2061'"):
        bundled("rtx2061")
