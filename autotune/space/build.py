"""Builds the space that this device can be asked about, from configuration, hardware and the baseline's probe."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from autotune.config.hardware import DeviceKind
from autotune.config.schema import Config
from autotune.hardware.device import Device
from autotune.hardware.profile import Profile
from autotune.hardware.roofline import batch_bound
from autotune.space.further import accumulations, arrays_gb, pipelines, tf32_settings
from autotune.space.recipe import Fidelity
from autotune.space.space import Kind, Space
from autotune.space.widths import width_choices
from autotune.trial import Candidate, DatasetFacts, LeftOut, Pipeline, Policy, Probe, Xla

# One call of the train function costs the host one or two milliseconds beside the steps themselves, so more steps a
# call cannot gain 2 % (the threshold of FASTER) once a step takes this long. It is told from the baseline's speed,
# which somebody else's load can divide by three: so the user's own batch and the next, the likeliest winners, are left
# out only far beyond it. What is searched would be another thing on each day of one machine.
_LONGEST_STEP_FOR_MORE_MS = 100.0
_FAR_BEYOND = 10

# An epoch of fewer steps than this trains something else than the user's model.
FEWEST_STEPS_PER_EPOCH = 4

_OPTIMIZER_SLOTS = {"sgd": 0, "rmsprop": 1, "adagrad": 1, "lion": 1, "adam": 2, "adamw": 2, "nadam": 2, "adamax": 2}

_MIB_PER_GIB = 1024

_Bounds = tuple[tuple[Policy, int | None], ...]


def own_widths(config: Config, accelerator: str) -> tuple[int, ...]:
    """The user's own widths on this kind of device."""
    model = config.model
    if accelerator == "CPU" and model.widths_without_accelerator is not None:
        return tuple(model.widths_without_accelerator)
    return tuple(model.widths)


def baseline_candidate(config: Config, accelerator: str) -> Candidate:
    """The user's own settings in float32, XLA as Keras would choose."""
    own = Candidate(Policy("float32"), config.train.batch_size, Xla.AUTO, own_widths(config, accelerator))
    return replace(own, tf32=config.train.tf32)


def build_space(
    config: Config,
    device: Device,
    target: Profile,
    baseline: Probe,
    fidelity: Fidelity,
    data: DatasetFacts | None = None,
) -> Space:
    """The space that this device can be asked about.

    Args:
        config: the run's configuration.
        device: decides the policies and, with the target, the memory bound.
        target: decides the alignments.
        baseline: its probe; XLA in force resolves the baseline's `auto`, its speed bounds steps_per_execution.
        fidelity: bounds the batch by the examples of an epoch.
        data: says what the training arrays take of the device's memory; None if nothing asks for them there.
    """
    left_out: list[LeftOut] = []
    policies = _policies(config, device, left_out)
    bounds = _largest_batch(config, device, target, baseline, policies)
    micro = _largest_micro_batch(config, device, target, baseline, policies, arrays_gb(data, baseline))
    batches = _batch_sizes(config, bounds, fidelity, left_out)
    widths = _widths(config, target, policies, baseline.candidate.widths, left_out)
    steps, longest_batch = _steps_per_execution(config, fidelity, baseline, batches, left_out)
    own = baseline.candidate
    beside_data = [bound for (_, _, pipeline), bound in micro if pipeline is Pipeline.DEVICE]
    return Space(
        baseline=replace(own, xla=Xla.ON if baseline.effect.xla else Xla.OFF),
        policies=policies,
        batch_sizes=batches,
        xla=tuple(Xla.ON if on else Xla.OFF for on in config.search.xla),
        steps_per_execution=steps,
        widths=widths,
        accumulations=accumulations(config, batches, left_out),
        tf32=tf32_settings(config, baseline, left_out),
        pipelines=pipelines(config, beside_data, left_out),
        left_out=tuple(left_out),  # after all that adds to it
        largest_batch=bounds,
        largest_micro_batch=micro,
        examples=fidelity.examples,
        longest_batch_for_more=longest_batch,
    )


def _policies(config: Config, device: Device, left_out: list[LeftOut]) -> tuple[Policy, ...]:
    choices = device.policy_choices()
    if config.search.policies is not None:
        asked = config.search.policies
        left_out += [
            LeftOut(choice.policy, "not in search.policies")
            for choice in choices
            if choice.offered and choice.policy not in asked
        ]
        return tuple(Policy(name) for name in asked)
    left_out += [LeftOut(choice.policy, choice.reason) for choice in choices if not choice.offered]
    return tuple(Policy(choice.policy) for choice in choices if choice.offered)


def _largest_batch(
    config: Config,
    device: Device,
    target: Profile,
    baseline: Probe,
    policies: Sequence[Policy],
    *,
    more_slots: int = 0,
    taken_gb: float = 0.0,
) -> _Bounds:
    """By policy, the largest batch that fits both into the device here and into the target.

    `more_slots` are values per parameter beside the optimizer's own; `taken_gb` is what others have of the memory.
    """
    device_mb = device.memory_total_mb
    known_gb = (None if device_mb is None else device_mb / _MIB_PER_GIB, target.memory_gb)
    sizes_gb = [None if size is None else max(0.0, size - taken_gb) for size in known_gb]
    activations = baseline.effect.activations_per_example
    slots = optimizer_slots(config) + more_slots

    def bound(policy: Policy) -> int | None:
        found = (
            batch_bound(size, baseline.effect.parameters, activations, policy.name, optimizer_slots=slots)
            for size in sizes_gb
        )
        return min((batch for batch in found if batch is not None), default=None)

    return tuple((policy, bound(policy)) for policy in policies)


def _largest_micro_batch(
    config: Config, device: Device, target: Profile, baseline: Probe, policies: Sequence[Policy], data_gb: float
) -> tuple[tuple[Kind, int | None], ...]:
    """The same where gradients accumulate, in one value per parameter, or where the training arrays are beside it."""
    found: list[tuple[Kind, int | None]] = []
    for accumulates, pipeline in itertools.product((False, True), Pipeline):
        taken_gb = data_gb if pipeline is Pipeline.DEVICE else 0.0
        bounds = _largest_batch(
            config, device, target, baseline, policies, more_slots=int(accumulates), taken_gb=taken_gb
        )
        found += [((policy, accumulates, pipeline), bound) for policy, bound in bounds]
    return tuple(found)


def _batch_sizes(config: Config, bounds: _Bounds, fidelity: Fidelity, left_out: list[LeftOut]) -> tuple[int, ...]:
    own = config.train.batch_size
    most, parts = fidelity.examples // FEWEST_STEPS_PER_EPOCH, max(config.search.accumulation)
    kept: list[int] = []
    refused: list[LeftOut] = []
    for batch in config.search.batch_sizes or _doubled(own, config.search.max_batch_factor):
        # An estimate: the user's own batch, and smaller ones, have run here already.
        full = [policy for policy, bound in bounds if bound is not None and bound * parts < batch > own]
        if batch > most:
            reason = f"an epoch of {fidelity.examples:,} examples would have fewer than {FEWEST_STEPS_PER_EPOCH} steps"
            refused.append(LeftOut(f"batch {batch}", reason))
        elif len(full) == len(bounds):
            refused.append(LeftOut(f"batch {batch}", "above the memory bound of the device or the target"))
        else:
            kept.append(batch)
            refused += [LeftOut(f"batch {batch} in {policy}", "above the memory bound") for policy in full]
            refused += [
                LeftOut(f"batch {batch} in {policy}, in micro-batches above {bound}", "above the memory bound")
                for policy, bound in bounds
                if bound is not None and bound < batch <= bound * parts and batch > own
            ]
    chosen = tuple(kept) or (own,)
    left_out += [left for left in refused if left.what not in {f"batch {batch}" for batch in chosen}]
    return chosen


def optimizer_slots(config: Config) -> int:
    """Float32 values that the optimizer keeps per parameter; two where the optimizer is not known."""
    slots = _OPTIMIZER_SLOTS.get(config.train.optimizer.lower(), 2)
    return slots + bool(config.train.optimizer_args.get("momentum"))


def _doubled(own: int, factor: int) -> list[int]:
    sizes = [own]
    while sizes[-1] * 2 <= own * factor:
        sizes.append(sizes[-1] * 2)
    return sizes


def _widths(
    config: Config,
    target: Profile,
    policies: tuple[Policy, ...],
    own: tuple[int, ...],
    left_out: list[LeftOut],
) -> tuple[tuple[int, ...], ...]:
    if not config.search.align_widths:
        return (own,)
    multiples = {target.alignment(policy.compute_dtype) for policy in policies}
    if target.kind is DeviceKind.gpu:
        # Tiles are 64 to 256 wide: the next coarser multiple fills the last one (Matrix Multiplication Background
        # User's Guide, tile quantization).
        multiples.add(64)
    choices, refused = width_choices(own, config.model.width_bounds, sorted(multiples), config.search.max_growth)
    left_out += refused
    return choices


def _steps_per_execution(
    config: Config, fidelity: Fidelity, baseline: Probe, batches: Sequence[int], left_out: list[LeftOut]
) -> tuple[tuple[int, ...], float | None]:
    """The choices, and the largest batch at which more than one can pay (None: no limit)."""
    most = fidelity.examples // min(batches)
    asked = config.search.steps_per_execution
    kept = tuple(steps for steps in asked if steps <= most)
    left_out += [
        LeftOut(f"steps_per_execution {steps}", f"an epoch has {most} steps at most") for steps in asked if steps > most
    ]
    longest_batch = _longest_batch_for_more(config, baseline, batches) if 1 in kept else None
    for steps, batch in itertools.product(kept, batches):
        count = fidelity.examples // batch
        if count % steps and not (longest_batch is not None and batch > longest_batch):
            what = f"steps_per_execution {steps} at batch {batch}"
            left_out.append(LeftOut(what, f"an epoch of {count} steps is no multiple of {steps}"))
    if longest_batch is None or len(kept) == 1:
        return kept or (1,), None
    if max(batches) > longest_batch:
        step_ms = longest_batch / baseline.examples_per_s * 1e3
        reason = (
            f"a step then takes over {step_ms:.0f} ms at the baseline's speed, beside which the cost of a call is below"
            " 2 %"
        )
        left_out.append(LeftOut(f"steps_per_execution above 1 at batches above {int(longest_batch)}", reason))
    return kept, longest_batch


def _longest_batch_for_more(config: Config, baseline: Probe, batches: Sequence[int]) -> float:
    """The largest batch at which more steps a call can pay."""
    usual = baseline.examples_per_s * _LONGEST_STEP_FOR_MORE_MS / 1e3
    following = min((batch for batch in batches if batch > config.train.batch_size), default=config.train.batch_size)
    return max(usual, min(following, _FAR_BEYOND * usual))
