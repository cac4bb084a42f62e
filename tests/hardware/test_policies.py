from __future__ import annotations

import pytest

from autotune.config.hardware import DeviceKind
from autotune.hardware.catalogue import bundled, bundled_profiles
from autotune.hardware.onednn import read_onednn
from autotune.hardware.policies import PolicyChoice, offered, policy_choices
from autotune.hardware.profile import Profile

FP16, BF16, F32 = "mixed_float16", "mixed_bfloat16", "float32"
ZEN4 = frozenset({"avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16"})
ZEN4_CPU = Profile("cpu_zen4", "Zen 4", DeviceKind.cpu, cpu_flags=ZEN4)


def gpu(title: str, capability: tuple[int, int] | None) -> Profile:
    return Profile("unknown_gpu", title, DeviceKind.gpu, compute_capability=capability)


def reason(choices: tuple[PolicyChoice, ...], policy: str) -> str:
    (choice,) = [choice for choice in choices if choice.policy == policy]
    return choice.reason


@pytest.mark.parametrize(
    ("name", "policies"),
    [
        ("gtx1080ti", (F32,)),
        ("p100_sxm2_16gb", (F32,)),
        ("v100_sxm2_16gb", (FP16, F32)),
        ("rtx2060", (FP16, F32)),
        ("a100_sxm4_40gb", (FP16, BF16, F32)),
        ("rtx5090", (FP16, BF16, F32)),
        ("cpu_amx", (BF16, F32)),
        ("cpu_zen4", (BF16, F32)),
        ("cpu_cooper_lake", (BF16, F32)),
        ("cpu_avx512", (F32,)),
        ("cpu_avx2", (F32,)),
        ("tpu_v5e", (BF16, F32)),
    ],
)
def test_offered_in_order_of_promise(name: str, policies: tuple[str, ...]) -> None:
    assert offered(policy_choices(bundled(name))) == policies


def test_every_profile_offers_float32_and_gives_a_reason_for_each_policy() -> None:
    for profile in bundled_profiles():
        choices = policy_choices(profile)
        assert F32 in offered(choices)
        assert {FP16, BF16, "float8", "float16"} <= {choice.policy for choice in choices}
        assert all(choice.reason for choice in choices)
        order = [choice.offered for choice in choices]
        assert order == sorted(order, reverse=True), "the offered ones come first"


def test_reasons_name_the_rule() -> None:
    assert "below cc 8.0" in reason(policy_choices(bundled("rtx2060")), BF16)
    assert "P100" in reason(policy_choices(bundled("p100_sxm2_16gb")), FP16)
    assert "3 to 4 times slower" in reason(policy_choices(bundled("cpu_avx512")), BF16)
    assert "avx512_fp16" in reason(policy_choices(bundled("cpu_zen4")), FP16)
    assert "TPU" in reason(policy_choices(bundled("tpu_v4")), FP16)


@pytest.mark.parametrize(
    "title",
    ["NVIDIA GeForce GTX 1660 Ti", "GeForce GTX 1650 with Max-Q Design", "NVIDIA T1000"],
)
def test_turing_without_tensor_cores_is_known_by_name(title: str) -> None:
    choices = policy_choices(gpu(title, (7, 5)))
    assert offered(choices) == (F32, FP16), "timing decides, and float32 is the better bet"
    assert "no tensor cores" in reason(choices, FP16)


def test_an_unknown_card_is_left_to_timing() -> None:
    choices = policy_choices(gpu("NVIDIA GeForce RTX 2070 SUPER", (7, 5)))
    assert offered(choices) == (FP16, F32)
    assert "unknown card" in reason(choices, FP16)
    assert "let timing decide" in reason(choices, FP16)
    assert offered(policy_choices(gpu("NVIDIA RTX 9090", (13, 0)))) == (FP16, BF16, F32)
    assert offered(policy_choices(gpu("GeForce GTX 1050", (6, 1)))) == (F32,)
    assert offered(policy_choices(gpu("an NVIDIA GPU", None))) == (FP16, BF16, F32)


@pytest.mark.parametrize(
    ("environ", "policies", "words"),
    [
        ({}, (BF16, F32), "native"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}, (F32,), "ONEDNN_MAX_CPU_ISA=AVX512_CORE"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX2"}, (F32,), "abort"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}, (BF16, F32), "native"),
        ({"TF_ENABLE_ONEDNN_OPTS": "0"}, (F32,), "oneDNN is off"),
    ],
)
def test_the_environment_can_take_bfloat16_from_a_cpu(
    environ: dict[str, str], policies: tuple[str, ...], words: str
) -> None:
    choices = policy_choices(ZEN4_CPU, read_onednn(ZEN4, "x86_64", environ))
    assert offered(choices) == policies
    assert words in reason(choices, BF16)


def test_native_float16_on_a_cpu_is_offered_after_bfloat16() -> None:
    flags = ZEN4 | {"amx_tile", "amx_bf16", "avx512_fp16"}
    cpu = Profile("cpu_amx", "Xeon", DeviceKind.cpu, cpu_flags=flags)
    assert offered(policy_choices(cpu, read_onednn(flags, "x86_64", {}))) == (BF16, FP16, F32)


def test_a_cpu_of_unknown_flags_is_left_to_timing() -> None:
    cpu = Profile("unknown_cpu", "ARM", DeviceKind.cpu)
    choices = policy_choices(cpu, read_onednn(frozenset(), "aarch64", {}))
    assert offered(choices) == (BF16, FP16, F32)
    assert "let timing decide" in reason(choices, BF16)


def test_a_choice_reads_as_a_sentence() -> None:
    assert str(PolicyChoice(FP16, False, "why")) == "mixed_float16 left out: why"
