"""What the device's own peak rates let expect, before any candidate was measured: it only orders the first ones.

A roofline knows nothing of the host, which bounds small models. So its part of a step is taken from the baseline's own
probe: what that took beyond what the peaks explain. Where the peaks are not known, as of most CPUs, nothing is
expected.
"""

from __future__ import annotations

from collections.abc import Mapping

from autotune.hardware.profile import Profile
from autotune.hardware.roofline import PASSES, Work, WorkKind, predict_step_time_ms
from autotune.space.space import Space
from autotune.trial import Effect, Policy, Probe

Expected = Mapping[tuple[Policy, int], float]
"""Expected throughput [examples/s] by policy and batch size, at the user's own widths; empty where nothing is known."""

# A batch for which no more than this is expected beyond a smaller one of its policy is not worth an early trial: it
# changes the training more and gives nothing for it.
WORTHWHILE = 1.05

# FLOPs beside the layers that a reader of a prediction need not hear of, as a share of the layers' own.
_NEXT_TO_NONE = 0.01

_LISTED = 5


def expected(space: Space, device: Profile, baseline: Probe, *, optimizer_slots: int = 0) -> Expected:
    """Throughput by roofline, with the host's part of a step from the baseline's probe; TF32 as the user has it.

    Args:
        space: whose policies and batch sizes are asked about.
        device: what is measured on, not the target.
        baseline: its probe.
        optimizer_slots: float32 values that the optimizer keeps per parameter.

    Returns:
        Empty where the model's work, or the peaks of any of the policies, are not known: half a ranking would be none.
    """
    works, own = works_of(baseline), baseline.candidate

    def step_ms(policy: Policy, batch: int) -> float | None:
        if works is None:
            return None
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


def works_of(baseline: Probe) -> list[Work] | None:
    """The layers of a built model, as the roofline wants them; inputs are the layer before.

    What the traced step multiplies beyond the layers' own FLOPs, such as the products of recurrent layers and of
    attention, is one work more.

    Returns:
        None where what a layer computes or puts out is not known: without it a prediction would leave that out.
    """
    if unknown_layers(baseline.effect):
        return None
    works, before = [], 0
    for layer in baseline.effect.layers:
        flops, outputs = layer.flops_per_example or 0, layer.activations_per_example or 0
        kind = WorkKind.memory if not flops else WorkKind.conv if layer.kind.startswith("Conv") else WorkKind.dense
        works.append(Work(layer.name, flops, layer.parameters, before + outputs, kind))
        before = outputs
    if more := _more_flops(baseline):
        works.append(Work("(products of no counted layer)", more, 0, 0))
    return works


def unknown_layers(effect: Effect) -> list[str]:
    """Names of the layers whose work is known neither from their kind nor from the traced step."""
    return [
        layer.name
        for layer in effect.layers
        if layer.activations_per_example is None or (layer.flops_per_example is None and not effect.is_traced)
    ]


def told_of_works(baseline: Probe) -> str:
    """For a reader of a prediction, which FLOPs stand beside the layers; empty where next to none do."""
    more, counted = _more_flops(baseline), baseline.effect.flops_per_example
    if more <= _NEXT_TO_NONE * counted:
        return ""
    names = [f"{layer.name} ({layer.kind})" for layer in baseline.effect.layers if layer.flops_per_example is None]
    return (
        f"{more / (more + counted):.0%} of the FLOPs are the traced step's, at the same peak and without what they"
        f" move: no layer is counted for them ({listed(names) or 'they stand outside of the layers'})"
    )


def listed(names: list[str]) -> str:
    """The first names of what may be a long list."""
    return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def _more_flops(baseline: Probe) -> float:
    """Forward FLOPs for one example that the traced step has beyond those of the layers.

    A step is taken for three times its forward pass, as in the roofline. It may be a little less: the first layer's
    inputs need no gradient.
    """
    traced = sum(product.flops for product in baseline.effect.products) / baseline.candidate.batch_size
    return max(0.0, traced / PASSES - baseline.effect.flops_per_example)
