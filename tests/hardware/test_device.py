from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.config.hardware import DeviceKind, HardwareConfig, OnMismatch
from autotune.errors import HardwareError
from autotune.hardware.catalogue import bundled, bundled_profiles
from autotune.hardware.device import Device, detect, numbered_by_framework
from autotune.hardware.host import Host, read_host
from autotune.hardware.match import match_cpu, match_gpu, normalised
from autotune.hardware.nvml import GpuProcess, GpuReading, MigInstance, NvmlReport, NvmlStatus
from autotune.hardware.profile import Profile
from autotune.hardware.target import on_target, resolve_target

NO_DRIVER = NvmlReport(NvmlStatus(False, "no driver"))
AUTO = Profile("auto", "the device found here", DeviceKind.auto)
ZEN4 = frozenset({"avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16"})
NOWHERE = Path(__file__).parent / "no_such_root"


def machine(environ: Mapping[str, str]) -> Host:
    """A quiet Zen 4 with 8 cores and 16 GiB, whatever runs this test."""
    return replace(
        read_host(environ, NOWHERE),
        cpu_model="AMD EPYC 9124",
        cpu_vendor="AuthenticAMD",
        cpu_family=25,
        cpu_flags=ZEN4,
        logical_cores=8,
        physical_cores=8,
        affinity_cores=8,
        memory_total_mb=16000.0,
        load_average_1m=0.0,
    )


def gpu_reading(name: str, memory_mb: float | None, capability: tuple[int, int]) -> GpuReading:
    return GpuReading(0, "GPU-1", name=name, memory_total_mb=memory_mb, compute_capability=capability)


RTX_2060 = gpu_reading("NVIDIA GeForce RTX 2060", 6144, (7, 5))


def device_with(*gpus: GpuReading, **environ: str) -> Device:
    report = NvmlReport(NvmlStatus(True, driver_version="555.42"), gpus) if gpus else NO_DRIVER
    return detect(environ, read_gpus=lambda: report, read_machine=machine)


def test_without_a_driver_the_cpu_is_the_device() -> None:
    device = device_with()
    assert (device.kind, device.name) == (DeviceKind.cpu, "AMD EPYC 9124")
    assert device.profile.name == "cpu_zen4"
    assert device.profile.cpu_flags == ZEN4, "the flags found here, not just those of the class"
    assert device.memory_total_mb == 16000
    assert device.nvml.reason == "no driver"
    assert device.notes == ()


def test_a_gpu_that_nvml_shows_is_the_device() -> None:
    device = device_with(RTX_2060)
    assert device.kind is DeviceKind.gpu
    assert device.profile == bundled("rtx2060")
    assert device.memory_total_mb == 6144
    assert device.fingerprint["compute_capability"] == "7.5"
    assert device.fingerprint["driver_version"] == "555.42"
    assert device.fingerprint["cpu_class"] == "cpu_zen4"


def test_a_card_without_a_profile_has_unknown_peaks() -> None:
    device = device_with(gpu_reading("NVIDIA GeForce RTX 2070 SUPER", 8192, (7, 5)))
    assert device.profile.name == "unknown_gpu"
    assert device.profile.compute_capability == (7, 5)
    assert device.profile.peak_tflops("float32") is None
    assert device.profile.memory_gb == 8


def test_hidden_gpus_leave_the_cpu_and_say_so() -> None:
    device = device_with(RTX_2060, CUDA_VISIBLE_DEVICES="")
    assert device.kind is DeviceKind.cpu
    assert "CUDA_VISIBLE_DEVICES" in device.notes[0]


def test_the_fingerprint_is_plain_json_and_does_not_depend_on_the_moment() -> None:
    cold = device_with(replace(RTX_2060, temperature_c=30, memory_used_mb=1.0))
    hot = device_with(replace(RTX_2060, temperature_c=80, memory_used_mb=900.0))
    assert json.loads(json.dumps(cold.fingerprint)) == cold.fingerprint
    assert cold.fingerprint == hot.fingerprint
    assert cold.to_json() != hot.to_json()
    assert json.loads(json.dumps(cold.to_json())) == cold.to_json()


def test_oneDNN_settings_belong_to_the_fingerprint() -> None:
    assert device_with(ONEDNN_MAX_CPU_ISA="AVX512_CORE").fingerprint != device_with().fingerprint, (
        "they decide what bfloat16 costs"
    )


def test_what_disturbs_timings_is_noted() -> None:
    other = GpuProcess(7, "compute", "train", 100.0)
    desktop = GpuProcess(8, "graphics", "Xorg", 100.0)
    assert "train (pid 7)" in device_with(replace(RTX_2060, processes=(other,))).notes[0]
    assert device_with(replace(RTX_2060, processes=(desktop,))).notes == ()

    def squeezed(environ: Mapping[str, str]) -> Host:
        return replace(machine(environ), cpu_quota_cores=1.5, load_average_1m=6.0)

    notes = detect({}, read_gpus=lambda: NO_DRIVER, read_machine=squeezed).notes
    assert "1.5 of 8 CPU cores" in notes[0]
    assert "load 6.0 on 1.5 cores" in notes[1]


@pytest.mark.parametrize(
    ("capability", "words"),
    [((12, 0), "no machine code"), ((6, 1), "nvidia-cudnn-cu12"), ((8, 6), None)],
)
def test_what_tensorflow_may_not_support_is_noted(capability: tuple[int, int], words: str | None) -> None:
    notes = device_with(gpu_reading("NVIDIA X", None, capability)).notes
    assert (words in notes[0]) if words else notes == ()


@pytest.mark.parametrize(
    ("name", "memory_gib", "profile"),
    [
        ("NVIDIA GeForce RTX 2080 Ti", 11.0, "rtx2080ti"),
        ("GeForce RTX 2080", 8.0, "rtx2080"),
        ("NVIDIA GeForce RTX 2080 SUPER", 8.0, None),
        ("NVIDIA GeForce RTX 2080 with Max-Q Design", 8.0, None),
        ("NVIDIA GeForce RTX 2060", 6.0, "rtx2060"),
        ("NVIDIA GeForce RTX 2060", 12.0, None),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", 6.0, None),
        ("NVIDIA GeForce RTX 3060", 12.0, "rtx3060_12gb"),
        ("NVIDIA GeForce RTX 3060", 8.0, None),
        ("NVIDIA GeForce RTX 3080", 10.0, "rtx3080_10gb"),
        ("NVIDIA GeForce RTX 3080", 12.0, None),
        ("NVIDIA GeForce RTX 4090 D", 24.0, None),
        ("NVIDIA A100-SXM4-40GB", 39.6, "a100_sxm4_40gb"),
        ("NVIDIA A100-SXM4-80GB", 79.3, "a100_sxm4_80gb"),
        ("NVIDIA A100-PCIE-40GB", 39.6, None),
        ("Tesla V100-SXM2-32GB", 31.7, "v100_sxm2_32gb"),
        ("Tesla V100-PCIE-16GB", 15.8, None),
        ("Tesla T4", 14.76, "t4"),
        ("NVIDIA L4", 22.5, "l4"),
        ("NVIDIA L40", 45.0, None),
        ("NVIDIA L40S", 45.0, "l40s"),
        ("NVIDIA H100 80GB HBM3", 79.6, "h100_sxm5_80gb"),
        ("NVIDIA H100 PCIe", 79.6, "h100_pcie_80gb"),
        ("NVIDIA H100 NVL", 93.6, None),
        ("NVIDIA H200", 140.4, "h200_sxm_141gb"),
        ("NVIDIA RTX 6000 Ada Generation", 48.0, None),
        ("Quadro RTX 6000", None, "quadro_rtx6000"),
        (None, 11.0, None),
    ],
)
def test_a_card_is_matched_exactly_or_not_at_all(
    name: str | None, memory_gib: float | None, profile: str | None
) -> None:
    found = match_gpu(name, memory_gib, None, bundled_profiles())
    assert (found.name if found else None) == profile


def test_a_card_of_another_compute_capability_is_another_card() -> None:
    assert match_gpu("NVIDIA A10", 24.0, (8, 9), bundled_profiles()) is None


def test_no_two_profiles_claim_one_name_and_memory() -> None:
    claims = [(normalised(name), profile.memory_gb) for profile in bundled_profiles() for name in profile.device_names]
    assert len(set(claims)) == len(claims)


@pytest.mark.parametrize(
    ("flags", "vendor", "family", "model", "name"),
    [
        ({"amx_bf16", "avx512_bf16", "avx512f"}, "GenuineIntel", 6, 143, "cpu_amx"),
        ({"avx512_bf16", "avx512f"}, "GenuineIntel", 6, 85, "cpu_cooper_lake"),
        ({"avx512_bf16", "avx512f"}, "GenuineIntel", 6, 143, "cpu_avx512_bf16"),
        ({"avx512_bf16", "avx512f"}, "AuthenticAMD", 25, 17, "cpu_zen4"),
        ({"avx512_bf16", "avx512f"}, "AuthenticAMD", 26, 2, "cpu_zen5"),
        ({"avx512_bf16", "avx_vnni"}, "AuthenticAMD", None, None, "cpu_zen5"),
        ({"avx512f", "avx2", "fma"}, "GenuineIntel", 6, 85, "cpu_avx512"),
        ({"avx2", "fma"}, "AuthenticAMD", 25, 1, "cpu_avx2"),
        ({"sse2"}, "GenuineIntel", 6, 1, None),
        (set(), None, None, None, None),
    ],
)
def test_the_class_of_a_cpu(
    flags: set[str],
    vendor: str | None,
    family: int | None,
    model: int | None,
    name: str | None,
) -> None:
    assert match_cpu(frozenset(flags), vendor, family, model) == name


def test_on_target() -> None:
    laptop, card = device_with(), device_with(RTX_2060)
    assert on_target(AUTO, laptop) == (True, "hw=auto takes the device that is here: AMD EPYC 9124")
    assert on_target(bundled("rtx2060"), card)[0]
    assert on_target(bundled("cpu_zen4"), laptop)[0]
    assert on_target(bundled("cpu_avx512_bf16"), laptop)[0], "Zen 4 is of that class"


@pytest.mark.parametrize("name", ["rtx2080", "rtx2080ti", "cpu_zen4", "tpu_v4"])
def test_off_target(name: str) -> None:
    on, reason = on_target(bundled(name), device_with(RTX_2060))
    assert not on
    assert bundled(name).title in reason
    assert "RTX 2060" in reason


def test_a_better_cpu_class_is_not_the_target() -> None:
    assert not on_target(bundled("cpu_avx2"), device_with())[0]
    assert not on_target(bundled("cpu_amx"), device_with())[0]


def test_a_variant_with_other_memory_is_off_target() -> None:
    twelve = device_with(replace(RTX_2060, memory_total_mb=12288))
    assert on_target(bundled("rtx2060"), twelve) == (
        False,
        "NVIDIA GeForce RTX 2060 here has 12.0 GiB, NVIDIA GeForce RTX 2060 6GB has 6 GB",
    )


def test_a_mig_instance_is_never_the_whole_card() -> None:
    card = gpu_reading("NVIDIA A100-SXM4-40GB", None, (8, 0))
    whole = MigInstance("MIG-1", "NVIDIA A100-SXM4-40GB", 40536, 0.0)
    device = device_with(replace(card, mig_enabled=True, mig_instances=(whole,)))
    on, reason = on_target(bundled("a100_sxm4_40gb"), device)
    assert device.memory_total_mb == 40536
    assert device.profile.name == "unknown_gpu"
    assert not on
    assert "MIG" in reason


def test_a_persons_own_profile_matches_by_the_names_that_it_gives() -> None:
    own = Profile("mine", "our cards", DeviceKind.gpu, device_names=("GeForce RTX 2060",))
    assert on_target(own, device_with(RTX_2060))[0]
    assert not on_target(replace(own, device_names=()), device_with(RTX_2060))[0]


def test_the_target_of_auto_is_the_device_and_a_mismatch_can_be_refused() -> None:
    device = device_with(RTX_2060)
    auto = HardwareConfig(name="auto", title="the device found here", kind=DeviceKind.auto)
    assert resolve_target(auto, device).profile == device.profile
    other = HardwareConfig(name="rtx9090", title="RTX 9090", kind=DeviceKind.gpu)
    target = resolve_target(other, device)
    assert (target.profile.name, target.on_target) == ("rtx9090", False)
    other.on_mismatch = OnMismatch.error
    with pytest.raises(HardwareError, match=r"RTX 9090.*hw\.on_mismatch=run"):
        resolve_target(other, device)


OLD = replace(gpu_reading("NVIDIA GeForce GTX 1080 Ti", 11264, (6, 1)), uuid="GPU-0", pci_bus_id="00000000:01:00.0")
NEW = replace(RTX_2060, index=1, pci_bus_id="00000000:02:00.0")


def test_unlike_gpus_are_numbered_as_the_framework_does() -> None:
    """CUDA has the fastest first, and the driver the one in the first slot."""
    expected = device_with(OLD, NEW)
    assert (expected.profile.name, expected.order_is_certain) == ("gtx1080ti", False)
    assert any("Pascal" in note for note in expected.notes)
    device = numbered_by_framework(expected, "NVIDIA GeForce RTX 2060")
    assert (device.profile.name, device.name, device.order_is_certain) == ("rtx2060", "NVIDIA GeForce RTX 2060", True)
    assert device.gpus == (NEW, OLD)
    assert device.fingerprint == device_with(NEW).fingerprint
    assert not any("Pascal" in note for note in device.notes)
    assert numbered_by_framework(expected, "NVIDIA GeForce GTX 1080 Ti") == replace(expected, order_is_certain=True)
    assert numbered_by_framework(expected, None).gpus == (OLD, NEW)
    certain = device_with(OLD, NEW, CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert numbered_by_framework(certain, "NVIDIA GeForce RTX 2060") is certain


def test_a_mismatch_is_refused_once_it_is_known_which_of_unlike_gpus_is_used() -> None:
    asked = HardwareConfig(name="rtx2060", title="RTX 2060", kind=DeviceKind.gpu, on_mismatch=OnMismatch.error)
    asked.device_names = ["GeForce RTX 2060"]
    unclear = device_with(OLD, NEW)
    assert not resolve_target(asked, unclear).on_target
    assert resolve_target(asked, numbered_by_framework(unclear, NEW.name)).on_target
    for known in (numbered_by_framework(unclear, OLD.name), device_with(OLD, NEW, CUDA_DEVICE_ORDER="PCI_BUS_ID")):
        with pytest.raises(HardwareError, match=r"the device NVIDIA GeForce GTX 1080 Ti"):
            resolve_target(asked, known)


def test_a_name_alone_is_told_as_such() -> None:
    on, reason = on_target(bundled("rtx2060"), device_with(replace(RTX_2060, memory_total_mb=None)))
    assert on
    assert reason.endswith("as far as its name tells: how much memory it has is not known")


def test_importing_detection_loads_nothing_heavy() -> None:
    code = (
        "import sys; import autotune.hardware.device, autotune.hardware.roofline; "
        "heavy = {'numpy', 'tensorflow', 'keras', 'mlflow', 'pynvml', 'omegaconf', 'psutil'}; "
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
