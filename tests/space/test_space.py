"""The space on real profiles, with a baseline whose sizes make every bound a number worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autotune.config.hardware import DeviceKind
from autotune.config.model import ModelConfig
from autotune.config.schema import Config
from autotune.config.search import SearchConfig
from autotune.config.train import TrainConfig
from autotune.hardware.catalogue import bundled
from autotune.hardware.device import Device, detect
from autotune.hardware.host import Host, read_host
from autotune.hardware.nvml import GpuReading, NvmlReport, NvmlStatus
from autotune.hardware.onednn import read_onednn
from autotune.hardware.profile import Profile
from autotune.space.build import baseline_candidate, build_space, optimizer_slots, own_widths
from autotune.space.recipe import Fidelity
from autotune.space.space import Space
from autotune.trial import Candidate, Effect, LayerEffect, Policy, Probe, Xla

F32, F16, BF16 = Policy("float32"), Policy("mixed_float16"), Policy("mixed_bfloat16")
OWN, ALIGNED = (3000, 1000), (3008, 1024)
ZEN4 = frozenset({"avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16"})
NOWHERE = Path(__file__).parent / "no_such_root"
PLENTY = Fidelity(8192, 3)
USERS = Candidate(F32, 32, Xla.AUTO, OWN)


def machine(environ: Mapping[str, str]) -> Host:
    """A quiet Zen 4 with 16 GiB, whatever runs this test."""
    return replace(
        read_host(environ, NOWHERE),
        machine="x86_64",
        cpu_model="AMD EPYC 9124",
        cpu_vendor="AuthenticAMD",
        cpu_family=25,
        cpu_flags=ZEN4,
        memory_total_mb=16 * 1024.0,
        onednn=read_onednn(ZEN4, "x86_64", environ, system="Linux"),
    )


def device(name: str = "", memory_gib: float = 0.0, capability: tuple[int, int] = (0, 0)) -> Device:
    """The Zen 4, with one GPU of this name if there is one."""
    gpu = GpuReading(0, "GPU-1", name=name, memory_total_mb=memory_gib * 1024, compute_capability=capability)
    report = NvmlReport(NvmlStatus(bool(name)), (gpu,) if name else ())
    return detect({}, read_gpus=lambda: report, read_machine=machine)


RTX2060 = device("NVIDIA GeForce RTX 2060", 6, (7, 5))
RTX3090 = device("NVIDIA GeForce RTX 3090", 24, (8, 6))
CPU = device()


def config(*, search: dict[str, Any] | None = None, train: dict[str, Any] | None = None, **model: Any) -> Config:
    shape: dict[str, Any] = {"widths": list(OWN), "width_bounds": [[3000, 3200], [1000, 1088]]} | model
    return Config(
        model=ModelConfig(name="mlp", **shape),
        search=SearchConfig(**(search or {})),
        train=TrainConfig(**(train or {})),
    )


def probe(
    *,
    step_ms: float = 0.1,
    xla: bool = True,
    parameters: int = 0,
    activations: int | None = 1,
    own: Candidate = USERS,
) -> Probe:
    """The baseline's; by default so fast and so small that nothing bounds the space."""
    layer = LayerEffect("all", "Dense", "float32", "float32", parameters, 1, activations)
    effect = Effect(xla, (layer,), "float32", False, "SGD", None, False, "GPU")
    return Probe(own, effect, (step_ms,), (), 10, (), 0.1, 0.1, None, 1.0, True)


def space(
    asked: Config | None = None,
    here: Device = RTX2060,
    target: Profile | None = None,
    fidelity: Fidelity = PLENTY,
    **baseline: Any,
) -> Space:
    return build_space(asked or config(), here, target or here.profile, probe(**baseline), fidelity)


def reasons(built: Space) -> dict[str, str]:
    return {entry.what: entry.reason for entry in built.left_out}


def test_the_whole_space_on_an_rtx_2060() -> None:
    built = space()
    assert set(built.policies) == {F32, F16}
    assert built.batch_sizes == (32, 64, 128, 256, 512)
    assert built.xla == (Xla.OFF, Xla.ON)
    assert built.steps_per_execution == (1, 8)
    assert built.widths == (OWN, ALIGNED)  # 8 elements change nothing, 64 do
    candidates = list(built.candidates())
    assert len(candidates) == len(set(candidates)) == 2 * 5 * 2 * 2 * 2 - 1, "all but the baseline, each once"
    assert built.summary().size == len(candidates)
    assert all(built.holds(candidate) for candidate in candidates)


def test_policies_that_the_device_gains_nothing_from_are_left_out_with_the_reason() -> None:
    left_out = reasons(space())
    assert "below cc 8.0" in left_out["mixed_bfloat16"]
    assert "underflow" in left_out["float16"]
    assert set(space(here=RTX3090).policies) == {F32, F16, BF16}


def test_a_cpu_is_asked_about_what_its_instructions_offer() -> None:
    built = space(here=CPU, xla=False)
    assert set(built.policies) == {F32, BF16}
    assert "avx512_fp16" in reasons(built)["mixed_float16"]
    # Vectors of 64 bytes hold 16 float32 or 32 bfloat16; no tiles of 64 there.
    assert built.widths == (OWN, (3008, 1008), (3008, 1024))


def test_policies_that_the_user_names_are_the_space_whatever_is_offered() -> None:
    built = space(config(search={"policies": ["mixed_bfloat16"]}))
    assert built.policies == (BF16,)
    assert reasons(built)["mixed_float16"] == "not in search.policies"
    assert reasons(built)["float32"] == "not in search.policies"
    assert "mixed_bfloat16" not in reasons(built)


@pytest.mark.parametrize("in_force", [True, False])
def test_the_baseline_is_known_by_the_xla_in_force(in_force: bool) -> None:
    built = space(xla=in_force)
    same = Candidate(F32, 32, Xla.ON if in_force else Xla.OFF, OWN, 1)
    other = replace(same, xla=Xla.OFF if in_force else Xla.ON)
    assert built.baseline == same
    assert same not in list(built.candidates())
    assert other in list(built.candidates())


def test_xla_is_tried_as_the_user_asks() -> None:
    assert space(config(search={"xla": [True]})).xla == (Xla.ON,)


@pytest.mark.parametrize(
    ("own", "factor", "expected"),
    [(32, 16, (32, 64, 128, 256, 512)), (32, 1, (32,)), (48, 5, (48, 96, 192)), (100, 3, (100, 200))],
)
def test_batches_are_the_users_own_doubled(own: int, factor: int, expected: tuple[int, ...]) -> None:
    asked = config(search={"max_batch_factor": factor}, train={"batch_size": own})
    assert space(asked, own=Candidate(F32, own, Xla.AUTO, OWN)).batch_sizes == expected


def test_batches_that_the_user_names_are_taken_in_their_order() -> None:
    assert space(config(search={"batch_sizes": [96, 24]})).batch_sizes == (96, 24)


def test_an_epoch_keeps_at_least_four_steps() -> None:
    built = space(fidelity=Fidelity(1023, 3))  # 4 x 256 = 1024 is one too many
    assert built.batch_sizes == (32, 64, 128)
    assert reasons(built)["batch 256"] == "an epoch of 1,023 examples would have fewer than 4 steps"
    assert space(fidelity=Fidelity(1024, 3)).batch_sizes == (32, 64, 128, 256)


# 0.9 x 6e9 B less 8 B for each of 100 million parameters leaves 4.6e9 B; 1.25 million activations of 2 x 4 B: 460.
# mixed_float16: 10 B a parameter, 2 x 2 B an activation: 4.4e9 / 5e6 = 880.
HEAVY: dict[str, Any] = {"parameters": 100_000_000, "activations": 1_250_000}
BOUNDS = {F32: 460, F16: 880}


def pairs(built: Space) -> set[tuple[Policy, int]]:
    return {(candidate.policy, candidate.batch_size) for candidate in built.candidates()}


def test_a_batch_that_only_16_bit_activations_leave_room_for_is_a_candidate_in_16_bit_alone() -> None:
    built = space(**HEAVY)
    assert dict(built.largest_batch) == BOUNDS
    assert built.batch_sizes == (32, 64, 128, 256, 512)
    assert reasons(built)["batch 512 in float32"] == "above the memory bound"
    assert not {"batch 512", "batch 512 in mixed_float16", "batch 256 in float32"} & set(reasons(built))
    everything = {(policy, batch) for policy in (F32, F16) for batch in built.batch_sizes}
    assert everything - pairs(built) == {(F32, 512)}


def test_a_batch_is_left_out_where_no_policy_fits_it() -> None:
    built = space(config(search={"batch_sizes": [64, 460, 461, 880, 881]}), **HEAVY)
    assert built.batch_sizes == (64, 460, 461, 880)
    assert reasons(built)["batch 881"] == "above the memory bound of the device or the target"
    in_policies = {what for what in reasons(built) if " in " in what}
    assert in_policies == {"batch 461 in float32", "batch 880 in float32"}, "a bound itself is within"
    assert {(F32, 460), (F16, 880)} <= pairs(built)


def test_the_smaller_of_device_and_target_is_the_bound() -> None:
    assert dict(space(here=RTX3090, target=bundled("rtx2060"), **HEAVY).largest_batch).items() >= BOUNDS.items()
    assert dict(space(here=RTX2060, target=bundled("rtx3090"), **HEAVY).largest_batch) == BOUNDS
    roomy = space(here=RTX3090, **HEAVY)
    assert (F32, 512) in pairs(roomy), "its own 24 GB hold them"
    assert not any(what.startswith("batch") for what in reasons(roomy))


def test_the_optimizers_own_memory_counts() -> None:
    # Adam: two more values of 4 B a parameter, so 0.8e9 B less: 3.8e9 / 1e7 and 3.6e9 / 5e6.
    assert dict(space(config(train={"optimizer": "adam"}), **HEAVY).largest_batch) == {F32: 380, F16: 720}


def test_unknown_memory_bounds_nothing() -> None:
    unknown = replace(CPU, host=replace(CPU.host, memory_total_mb=None, memory_limit_mb=None))
    target = Profile("some_cpu", "some CPU", DeviceKind.cpu)
    built = space(here=unknown, target=target, **HEAVY)
    assert dict(built.largest_batch) == {F32: None, BF16: None}
    assert pairs(built) == {(policy, batch) for policy in (F32, BF16) for batch in (32, 64, 128, 256, 512)}


def test_outputs_that_are_not_known_bound_nothing() -> None:
    built = space(parameters=100_000_000, activations=None)
    assert dict(built.largest_batch) == {F32: None, F16: None}
    assert built.batch_sizes == (32, 64, 128, 256, 512)


def test_the_users_own_batch_is_what_is_left_when_no_other_is() -> None:
    built = space(config(search={"batch_sizes": [4096]}))
    assert built.batch_sizes == (32,)
    assert "batch 4096" in reasons(built)


def test_what_is_searched_is_not_listed_as_left_out() -> None:
    built = space(fidelity=Fidelity(100, 3))  # four steps of 25: even the user's own 32 is too large
    assert not {f"batch {size}" for size in built.batch_sizes} & set(reasons(built))


@pytest.mark.parametrize(
    ("optimizer", "args", "slots"),
    [
        ("sgd", {}, 0),
        ("sgd", {"momentum": 0.0}, 0),
        ("sgd", {"momentum": 0.9}, 1),
        ("rmsprop", {}, 1),
        ("rmsprop", {"momentum": 0.9}, 2),
        ("Adam", {}, 2),
        ("lion", {}, 1),
        ("ftrl", {}, 2),
    ],
)
def test_optimizer_slots(optimizer: str, args: dict[str, float], slots: int) -> None:
    assert optimizer_slots(config(train={"optimizer": optimizer, "optimizer_args": args})) == slots


def test_widths_follow_the_target_not_the_device() -> None:
    # Zen 4: vectors of 64 bytes, 16 float32 or 32 in 16 bit. A100: 32 and 64. TPU v5e: 128.
    bounds: dict[str, Any] = {"widths": [1000], "width_bounds": [[1000, 1100]]}
    own = Candidate(F32, 32, Xla.AUTO, (1000,))
    assert space(config(**bounds), target=bundled("a100_sxm4_80gb"), own=own).widths == ((1000,), (1024,))
    assert space(config(**bounds), target=bundled("cpu_zen4"), own=own).widths == ((1000,), (1008,), (1024,))
    assert space(config(**bounds), target=bundled("tpu_v5e"), own=own).widths == ((1000,), (1024,))


def test_widths_stay_the_users_own_on_request_or_without_bounds() -> None:
    assert space(config(search={"align_widths": False})).widths == (OWN,)
    assert space(config(width_bounds=[])).widths == (OWN,)
    assert space(config(widths=[], width_bounds=[]), own=Candidate(F32, 32, Xla.AUTO, ())).widths == ((),)


def test_widths_that_grow_too_much_are_in_the_list_of_what_was_left_out() -> None:
    built = space(config(search={"max_growth": 0.01}))
    assert built.widths == (OWN,)
    reason = reasons(built)["widths 3008-1024 (multiples of 64)"]
    assert reason == "a width grows by 2.40%, above search.max_growth (1.00%)"


def test_more_steps_a_call_only_where_steps_are_short() -> None:
    # 32 examples in 12.5 ms are 2,560 a second, 256 in 100 ms: at larger batches a call costs less than 2 % of a step.
    built = space(step_ms=12.5)
    assert built.longest_batch_for_more == pytest.approx(256)
    calls = {(c.batch_size, c.steps_per_execution) for c in built.candidates()}
    assert (256, 8) in calls
    assert (512, 8) not in calls
    assert (512, 1) in calls
    assert built.summary().size == 79 - 8
    assert "over 100 ms" in reasons(built)["steps_per_execution above 1 at batches above 256"]


def test_a_busy_machine_does_not_leave_out_more_steps_at_the_batches_that_win() -> None:
    """At 75 ms a step of 32, a step of 64 is above the bound: on a quiet machine it would not be."""
    busy = space(step_ms=75.0)
    calls = {(c.batch_size, c.steps_per_execution) for c in busy.candidates()}
    assert {(32, 8), (64, 8)} <= calls
    assert (128, 8) not in calls
    assert "over 150 ms" in reasons(busy)["steps_per_execution above 1 at batches above 64"]
    far = {(c.batch_size, c.steps_per_execution) for c in space(step_ms=2000.0).candidates()}
    assert not {(32, 8), (64, 8)} & far


def test_no_call_holds_more_steps_than_an_epoch() -> None:
    assert space(config(search={"steps_per_execution": [1, 8, 500]})).steps_per_execution == (1, 8)
    assert space(config(search={"steps_per_execution": [500]})).steps_per_execution == (1,)


def test_steps_that_an_epoch_does_not_have_are_left_out_with_a_reason() -> None:
    built = space(config(search={"steps_per_execution": [1, 500]}))  # an epoch has 250 steps of 32
    assert any("500" in what for what in reasons(built))


def test_no_candidate_puts_more_steps_into_a_call_than_its_epoch_has() -> None:
    fidelity = Fidelity(2048, 3)  # 64 steps of 32, but 4 of 512
    for candidate in space(fidelity=fidelity).candidates():
        assert candidate.steps_per_execution <= fidelity.examples // candidate.batch_size, str(candidate)


def test_nothing_is_said_to_be_left_out_that_was_not() -> None:
    assert not any("steps_per_execution" in what for what in reasons(space()))  # batches up to 16,000 would do


def test_a_space_is_never_empty_for_the_steps_that_were_asked_for() -> None:
    built = space(config(search={"steps_per_execution": [8]}), step_ms=100.0)
    assert built.summary().size > 0


def test_own_widths_depend_on_the_accelerator() -> None:
    asked = config(widths=[4096, 4096], widths_without_accelerator=[64, 64], width_bounds=[])
    assert own_widths(asked, "CPU") == (64, 64)
    assert own_widths(asked, "GPU") == own_widths(asked, "TPU") == (4096, 4096)
    assert own_widths(config(), "CPU") == OWN


def test_the_baseline_is_the_users_own_training_in_float32() -> None:
    asked = config(train={"batch_size": 96})
    assert baseline_candidate(asked, "GPU") == Candidate(F32, 96, Xla.AUTO, OWN, 1)


def test_the_summary_says_what_a_reader_needs() -> None:
    built = space()
    summary = built.summary()
    assert summary.policies == tuple(policy.name for policy in built.policies)
    assert summary.xla == ("off", "on")
    assert (summary.batch_sizes, summary.steps_per_execution) == (built.batch_sizes, built.steps_per_execution)
    assert (summary.widths, summary.left_out) == (built.widths, built.left_out)
    assert all(entry.what and entry.reason for entry in summary.left_out)
