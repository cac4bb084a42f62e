from __future__ import annotations

import pytest

from autotune.hardware.onednn import Bf16Support, OneDnn, read_onednn

SKYLAKE = frozenset({"avx2", "fma", "avx512f"})
CASCADE = SKYLAKE | {"avx512_vnni"}
ZEN4 = CASCADE | {"avx512_bf16"}
SAPPHIRE = ZEN4 | {"amx_tile", "amx_bf16", "amx_int8", "avx512_fp16"}


def read(flags: frozenset[str], machine: str = "x86_64", **environ: str) -> OneDnn:
    return read_onednn(flags, machine, environ)


@pytest.mark.parametrize(
    ("flags", "enabled"),
    [
        (frozenset({"avx2"}), False),
        (SKYLAKE, False),
        (CASCADE, True),
        (frozenset({"avx2", "avx_vnni"}), True),
        (frozenset({"amx_tile"}), True),
    ],
)
def test_tensorflow_turns_it_on_for_neural_network_instructions(flags: frozenset[str], enabled: bool) -> None:
    assert read(flags).enabled is enabled


def test_the_variable_overrides_the_default() -> None:
    assert read(SKYLAKE, TF_ENABLE_ONEDNN_OPTS="1").enabled
    assert not read(ZEN4, TF_ENABLE_ONEDNN_OPTS="0").enabled
    assert not read(ZEN4, TF_ENABLE_ONEDNN_OPTS="False").enabled
    assert read(ZEN4, TF_ENABLE_ONEDNN_OPTS="nonsense").enabled
    assert "TF_ENABLE_ONEDNN_OPTS=0" in read(ZEN4, TF_ENABLE_ONEDNN_OPTS="0").reason


def test_other_systems_have_it_off_by_default() -> None:
    assert not read(ZEN4, "aarch64").enabled
    assert not read_onednn(ZEN4, "AMD64", {}, system="Windows").enabled


@pytest.mark.parametrize(
    ("flags", "cap", "bf16"),
    [
        (ZEN4, "", Bf16Support.native),
        (SAPPHIRE, "DEFAULT", Bf16Support.native),
        (SAPPHIRE, "AVX512_CORE_BF16", Bf16Support.native),
        (SAPPHIRE, "AVX512_CORE", Bf16Support.emulated),
        (ZEN4, "AVX512_CORE_VNNI", Bf16Support.emulated),
        (ZEN4, "avx512_core", Bf16Support.emulated),
        (ZEN4, "AVX2", Bf16Support.aborts),
        (ZEN4, "AVX2_VNNI_2", Bf16Support.aborts),
        (ZEN4, "NO_SUCH_ISA", Bf16Support.native),
        (CASCADE, "", Bf16Support.emulated),
        (SKYLAKE, "", Bf16Support.eigen),
        (frozenset({"avx2", "avx_vnni"}), "", Bf16Support.eigen),
        (frozenset(), "", Bf16Support.unknown),
    ],
)
def test_bfloat16_under_a_cap(flags: frozenset[str], cap: str, bf16: Bf16Support) -> None:
    assert read(flags, ONEDNN_MAX_CPU_ISA=cap).bf16 is bf16


def test_the_cap_is_recorded_as_written_under_either_name() -> None:
    assert read(ZEN4).max_cpu_isa is None
    old = read(ZEN4, DNNL_MAX_CPU_ISA="AVX512_CORE")
    assert old.max_cpu_isa == "AVX512_CORE"
    assert "DNNL_MAX_CPU_ISA" in old.bf16_reason


def test_a_cap_cannot_abort_what_onednn_does_not_compute() -> None:
    off = read(ZEN4, TF_ENABLE_ONEDNN_OPTS="0", ONEDNN_MAX_CPU_ISA="AVX2")
    assert off.bf16 is Bf16Support.eigen


def test_float16_needs_its_own_instructions() -> None:
    assert read(SAPPHIRE).fp16_native is True
    assert read(SAPPHIRE, ONEDNN_MAX_CPU_ISA="AVX10_1_512").fp16_native is True
    assert read(SAPPHIRE, ONEDNN_MAX_CPU_ISA="AVX512_CORE_BF16").fp16_native is False
    assert read(ZEN4).fp16_native is False
    assert read(frozenset()).fp16_native is None
