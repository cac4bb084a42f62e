"""What the device's own peak rates let expect, before any candidate was measured: it only orders the first ones.

A roofline knows nothing of the host, which bounds small models. So its part of a step is taken from the baseline's own
probe: what that took beyond what the peaks explain. Where the peaks are not known, as of most CPUs, nothing is
expected.
"""

from __future__ import annotations

from collections.abc import Mapping

from autotune.hardware.profile import Profile
from autotune.hardware.roofline import Work, WorkKind, predict_step_time_ms
from autotune.space.space import Space
from autotune.trial import Effect, Policy, Probe

Expected = Mapping[tuple[Policy, int], float]
"""Expected throughput [examples/s] by policy and batch size, at the user's own widths; empty where nothing is known."""

# A batch for which no more than this is expected beyond a smaller one of its policy is not worth an early trial: it
# changes the training more and gives nothing for it.
WORTHWHILE = 1.05


def expected(space: Space, device: Profile, baseline: Probe, *, optimizer_slots: int = 0) -> Expected:
    """Throughput by roofline, with the host's part of a step from the baseline's probe; TF32 as the user has it.

    Args:
        space: whose policies and batch sizes are asked about.
        device: what is measured on, not the target.
        baseline: its probe.
        optimizer_slots: float32 values that the optimizer keeps per parameter.

    Returns:
        Empty where the peaks of any of the policies are not known: half a ranking would be none.
    """
    works, own = works_of(baseline.effect), baseline.candidate

    def step_ms(policy: Policy, batch: int) -> float | None:
        tf32 = own.tf32 is not False
        found = predict_step_time_ms(
            device, works, policy.name, batch, optimizer_slots=optimizer_slots, overhead_ms=0.0, tf32=tf32
        )
        return found.step_time_ms if found else None

    explained_ms = step_ms(own.policy, own.batch_size)
    if explained_ms is None:
        return {}
    host_ms = max(0.0, baseline.step_time_ms - explained_ms)
    rates: dict[tuple[Policy, int], float] = {}
    for policy in space.policies:
        for batch in space.batch_sizes:
            device_ms = step_ms(policy, batch)
            if device_ms is None:
                return {}
            rates[policy, batch] = batch / (device_ms + host_ms) * 1e3
    return rates


def fastest(rates: Expected, policies: tuple[Policy, ...]) -> list[tuple[Policy, int]]:
    """Pairs of these policies, the fastest first, without batches that gain next to nothing over a smaller one."""

    def gains(policy: Policy, batch: int) -> bool:
        smaller = [rate for (other, size), rate in rates.items() if other == policy and size < batch]
        return not smaller or rates[policy, batch] > WORTHWHILE * max(smaller)

    worth = [(policy, batch) for policy, batch in rates if policy in policies and gains(policy, batch)]
    return sorted(worth, key=lambda pair: (-rates[pair], pair[1]))


def works_of(effect: Effect) -> list[Work]:
    """The layers of a built model, as the roofline wants them; inputs are the layer before."""
    works, before = [], 0
    for layer in effect.layers:
        flops = layer.flops_per_example or 0
        kind = WorkKind.memory if not flops else WorkKind.conv if layer.kind.startswith("Conv") else WorkKind.dense
        moved = before + layer.activations_per_example
        works.append(Work(layer.name, flops, layer.parameters, moved, kind))
        before = layer.activations_per_example
    return works
