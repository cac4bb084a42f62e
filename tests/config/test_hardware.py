from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

import autotune.conf
from autotune.config.hardware import DeviceKind, HardwareConfig, OnMismatch
from autotune.errors import ConfigError

FOLDER = Path(autotune.conf.__path__[0]) / "hw"
FILES = sorted(FOLDER.glob("*.yaml"))


def compose(*layers: Any) -> HardwareConfig:
    merged = OmegaConf.merge(OmegaConf.structured(HardwareConfig), *layers)
    config = OmegaConf.to_object(merged)
    assert isinstance(config, HardwareConfig)
    return config


def load(name: str) -> HardwareConfig:
    return compose(OmegaConf.load(FOLDER / f"{name}.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_profile_composes_and_says_what_it_is(file: Path) -> None:
    config = load(file.stem)
    assert config.name == file.stem
    assert config.title
    assert config.source
    assert config.verified
    assert config.on_mismatch is OnMismatch.run
    assert file.read_text(encoding="utf-8").startswith("# ")
    if config.kind is DeviceKind.gpu:
        assert config.compute_capability
        assert config.device_names
        assert "float32" in config.peak_tflops
        assert set(config.tensor_cores) <= set(config.peak_tflops)


def test_the_bundle_is_complete() -> None:
    kinds = [load(file.stem).kind for file in FILES]
    counts = {kind: kinds.count(kind) for kind in DeviceKind}
    # 25 cards of which the V100 has two memory sizes; 7 CPU classes; 6 TPUs.
    assert counts == {
        DeviceKind.gpu: 26,
        DeviceKind.cpu: 7,
        DeviceKind.tpu: 6,
        DeviceKind.auto: 1,
    }


def test_published_figures() -> None:
    rtx2060 = load("rtx2060")
    assert rtx2060.compute_capability == "7.5"
    assert (rtx2060.memory_gb, rtx2060.bandwidth_gb_s, rtx2060.sm_count) == (6, 336, 30)
    assert rtx2060.peak_tflops == {"float32": 6.45, "float16": 25.8}
    assert rtx2060.tensor_cores == ["float16"]
    h100 = load("h100_sxm5_80gb")
    assert h100.peak_tflops == {
        "float32": 66.9,
        "tf32": 494.7,
        "float16": 989.4,
        "bfloat16": 989.4,
        "float8": 1978.9,
    }
    assert (h100.mig_slices, h100.tdp_w) == (7, 700)
    assert load("gtx1080ti").tensor_cores == []
    assert (load("v100_sxm2_16gb").memory_gb, load("v100_sxm2_32gb").memory_gb) == (16, 32)
    assert load("cpu_amx").flop_per_clock_per_core == {"float32": 64, "bfloat16": 1024}
    assert (load("tpu_v6e").matrix_unit, load("tpu_v6e").peak_tflops) == (256, {"bfloat16": 918})


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("memory_gb", -6, "hw.memory_gb"),
        ("memory_gb", 0, "null"),
        ("bandwidth_gb_s", float("nan"), "hw.bandwidth_gb_s"),
        ("sm_count", -1, "hw.sm_count"),
        ("peak_tflops", {"fp16": 25.8}, "float16, bfloat16"),
        ("peak_tflops", {"float16": 0}, "hw.peak_tflops.float16"),
        ("flop_per_clock_per_core", {"int8": 1}, "int8"),
        ("tensor_cores", ["half"], "half"),
        ("compute_capability", "75", "'7.5'"),
        ("compute_capability", "sm_75", "sm_75"),
    ],
)
def test_impossible_figures_are_refused_in_one_line(key: str, value: Any, words: str) -> None:
    given = {"name": "mine", "title": "mine", "kind": "gpu", key: value}
    with pytest.raises(ConfigError) as refusal:
        compose(given)
    assert words in str(refusal.value)
    assert "but got" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_compute_capability_belongs_to_a_gpu() -> None:
    with pytest.raises(ConfigError, match=r"hw\.kind=gpu"):
        compose({"name": "x", "title": "x", "kind": "cpu", "compute_capability": "7.5"})


def test_a_gpu_that_must_have_tensor_cores_says_which() -> None:
    ampere = {"name": "x", "title": "x", "kind": "gpu", "compute_capability": "8.6", "peak_tflops": {"float16": 71}}
    with pytest.raises(ConfigError) as refusal:
        compose(ampere)
    assert str(refusal.value) == (
        "hw.tensor_cores must say which dtypes the tensor cores of compute capability 8.6 take, but got []; write"
        " hw.tensor_cores=[float16, bfloat16, tf32], and float8 from 8.9"
    )
    assert compose(ampere | {"tensor_cores": ["float16"]})
    assert compose(ampere | {"compute_capability": "7.5"}), "there are such cards without any"


def test_an_unquoted_compute_capability_is_read_as_written() -> None:
    assert compose({"name": "x", "title": "x", "kind": "gpu", "compute_capability": 7.5})


def test_a_misspelt_key_or_kind_does_not_compose() -> None:
    with pytest.raises(OmegaConfBaseException):
        compose({"memory": 6})
    with pytest.raises(OmegaConfBaseException):
        compose({"kind": "npu"})


def test_missing_values_are_for_omegaconf_to_report() -> None:
    assert OmegaConf.missing_keys(OmegaConf.structured(HardwareConfig)) == {"name", "title", "kind"}
    assert HardwareConfig().name == "???"
