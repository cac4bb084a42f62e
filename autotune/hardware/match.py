"""Which bundled profile a detected part is, and whether a device is the target that was asked for.

Names match exactly, case, spaces and hyphens aside. A SUPER, a laptop, a Max-Q or a MIG slice is
another part with other peaks, and an unknown part has unknown peaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from autotune.config.hardware import DeviceKind
from autotune.hardware.profile import Profile

__all__ = ["is_part", "match_cpu", "match_gpu", "normalised"]

# Cards of one name are sold with unlike memory and then unlike chips (RTX 2060 6/12 GB, RTX 3080
# 10/12 GB, RTX 3060 8/12 GB). Drivers and ECC keep up to 8 % of what the vendor states (T4: 14.8 of
# 16 GB with ECC), and the nearest such pair differs by 17 %.
_MEMORY_TOLERANCE = 0.12

# AMD: family 25 is Zen 3 and Zen 4, and only Zen 4 has avx512_bf16; family 26 is Zen 5.
_ZEN5_FAMILY = 26
# Intel: family 6, model 85 is Skylake-SP, Cascade Lake and, with avx512_bf16, Cooper Lake.
_COOPER_LAKE_MODEL = 85
_WITH_AVX512_BF16 = frozenset({"cpu_zen4", "cpu_zen5", "cpu_cooper_lake"})


def normalised(name: str) -> str:
    """A part's name without the differences between drivers: case, spacing, leading vendor."""
    words = re.sub(r"[\s_-]+", " ", name).strip().lower()
    return words.removeprefix("nvidia ")


def match_gpu(
    name: str | None,
    memory_gib: float | None,
    compute_capability: tuple[int, int] | None,
    profiles: Iterable[Profile],
) -> Profile | None:
    """The profile of exactly this card, or None."""
    for profile in profiles:
        if profile.kind is DeviceKind.gpu and not _differs(profile, name, memory_gib, compute_capability):
            return profile
    return None


def match_cpu(flags: frozenset[str], vendor: str | None, family: int | None, model: int | None) -> str | None:
    """The name of the bundled CPU class, None for flags that fit no class.

    `vendor` is /proc/cpuinfo's, such as AuthenticAMD.
    """
    if "amx_bf16" in flags:
        return "cpu_amx"
    if "avx512_bf16" in flags:
        if vendor == "AuthenticAMD":
            newer = family is not None and family >= _ZEN5_FAMILY
            return "cpu_zen5" if newer or "avx_vnni" in flags else "cpu_zen4"
        cooper = vendor == "GenuineIntel" and family == 6 and model == _COOPER_LAKE_MODEL
        return "cpu_cooper_lake" if cooper else "cpu_avx512_bf16"
    if "avx512f" in flags:
        return "cpu_avx512"
    return "cpu_avx2" if {"avx2", "fma"} <= flags else None


def is_part(
    target: Profile,
    kind: DeviceKind,
    name: str | None,
    own: Profile,
    memory_gib: float | None,
) -> tuple[bool, str]:
    """Whether a part with these facts is the target, and why (one line).

    Args:
        target: the profile that was asked for.
        kind: of the part.
        name: as the driver or the CPU reports it.
        own: the part's own profile.
        memory_gib: its memory, GPUs only.
    """
    shown = f"{kind.value} {name or 'of unknown name'}"
    if target.kind is not kind:
        return False, f"the target is a {target.kind.value} ({target.title}), the device a {shown}"
    if kind is DeviceKind.gpu:
        differs = _differs(target, name, memory_gib, own.compute_capability)
        by_name = target.memory_gb is not None and memory_gib is None
        told = ", as far as its name tells: how much memory it has is not known" if by_name else ""
        return (False, differs) if differs else (True, f"the device is {target.title}{told}")
    if own.name == target.name:
        return True, f"the device is of the class {target.title}"
    if target.name == "cpu_avx512_bf16" and own.name in _WITH_AVX512_BF16:
        return True, f"{own.title} is of the class {target.title}"
    named = {normalised(known) for known in (target.title, *target.device_names)}
    if name is not None and normalised(name) in named:
        return True, f"the device is {target.title}"
    return False, f"the target is {target.title}, the device {shown} ({own.title})"


def _differs(
    target: Profile,
    name: str | None,
    memory_gib: float | None,
    compute_capability: tuple[int, int] | None,
) -> str:
    """How a GPU differs from the target, empty if it does not."""
    known = {normalised(one) for one in (target.title, *target.device_names)}
    if name is None or normalised(name) not in known:
        return f"the target is {target.title}, the device {name or 'a GPU of unknown name'}"
    if None not in (compute_capability, target.compute_capability) and (
        compute_capability != target.compute_capability
    ):
        return f"the device has another compute capability than {target.title}"
    if (
        memory_gib is not None
        and target.memory_gb is not None
        and abs(memory_gib / target.memory_gb - 1) > _MEMORY_TOLERANCE
    ):
        return f"{name} here has {memory_gib:.1f} GiB, {target.title} has {target.memory_gb:g} GB"
    return ""
