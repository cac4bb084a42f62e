"""The search space of one study: every candidate, enumerable, and everything that was left out with its reason."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from autotune.config.hardware import DeviceKind
from autotune.config.schema import Config
from autotune.hardware.device import Device
from autotune.hardware.profile import Profile
from autotune.hardware.roofline import batch_bound
from autotune.space.recipe import Fidelity
from autotune.space.widths import width_choices
from autotune.trial import Candidate, LeftOut, Policy, Probe, SpaceSummary, Xla

# One call of the train function costs the host about a millisecond beside the steps themselves, so more steps a call
# cannot gain 2 % (the threshold of FASTER) once a step takes this long.
_LONGEST_STEP_FOR_MORE_MS = 50.0

# An epoch of fewer steps than this trains something else than the user's model.
_FEWEST_STEPS_PER_EPOCH = 4

_OPTIMIZER_SLOTS = {"sgd": 0, "rmsprop": 1, "adagrad": 1, "lion": 1, "adam": 2, "adamw": 2, "nadam": 2, "adamax": 2}


@dataclass(frozen=True, slots=True)
class Space:
    """The choices of each dimension; `candidates` leaves out the combinations that make no sense, and the baseline."""

    baseline: Candidate
    policies: tuple[Policy, ...]
    batch_sizes: tuple[int, ...]
    xla: tuple[Xla, ...]
    steps_per_execution: tuple[int, ...]
    widths: tuple[tuple[int, ...], ...]
    left_out: tuple[LeftOut, ...]
    longest_batch_for_more: float

    def candidates(self) -> Iterator[Candidate]:
        """Every candidate, each once."""
        for policy, batch, xla, steps, widths in itertools.product(
            self.policies, self.batch_sizes, self.xla, self.steps_per_execution, self.widths
        ):
            candidate = Candidate(policy, batch, xla, widths, steps)
            if self.holds(candidate):
                yield candidate

    def holds(self, candidate: Candidate) -> bool:
        """Whether a combination of choices is a candidate."""
        if candidate.steps_per_execution > 1 and candidate.batch_size > self.longest_batch_for_more:
            return False
        return candidate != self.baseline

    def summary(self) -> SpaceSummary:
        """The space for a reader."""
        return SpaceSummary(
            policies=tuple(policy.name for policy in self.policies),
            batch_sizes=self.batch_sizes,
            xla=tuple(xla.value for xla in self.xla),
            steps_per_execution=self.steps_per_execution,
            widths=self.widths,
            size=sum(1 for _ in self.candidates()),
            left_out=self.left_out,
        )


def own_widths(config: Config, accelerator: str) -> tuple[int, ...]:
    """The user's own widths on this kind of device."""
    model = config.model
    if accelerator == "CPU" and model.widths_without_accelerator is not None:
        return tuple(model.widths_without_accelerator)
    return tuple(model.widths)


def baseline_candidate(config: Config, accelerator: str) -> Candidate:
    """The user's own settings in float32, XLA as Keras would choose."""
    return Candidate(Policy("float32"), config.train.batch_size, Xla.AUTO, own_widths(config, accelerator))


def build_space(config: Config, device: Device, target: Profile, baseline: Probe, fidelity: Fidelity) -> Space:
    """The space that this device can be asked about.

    Args:
        config: the run's configuration.
        device: decides the policies and the memory bound.
        target: decides the alignments.
        baseline: its probe; XLA in force resolves the baseline's `auto`, its speed bounds steps_per_execution.
        fidelity: bounds the batch by the examples of an epoch.
    """
    left_out: list[LeftOut] = []
    policies = _policies(config, device, left_out)
    batches = _batch_sizes(config, (device.memory_total_mb, target), baseline, fidelity, left_out)
    xla = tuple(Xla.ON if on else Xla.OFF for on in config.search.xla)
    widths = _widths(config, target, policies, baseline.candidate.widths, left_out)
    longest_batch = baseline.examples_per_s * _LONGEST_STEP_FOR_MORE_MS / 1e3
    steps = _steps_per_execution(config, fidelity, longest_batch, left_out)
    resolved = Candidate(
        baseline.candidate.policy,
        baseline.candidate.batch_size,
        Xla.ON if baseline.effect.xla else Xla.OFF,
        baseline.candidate.widths,
        baseline.candidate.steps_per_execution,
    )
    return Space(resolved, policies, batches, xla, steps, widths, tuple(left_out), longest_batch)


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


def _batch_sizes(
    config: Config,
    memory: tuple[float | None, Profile],
    baseline: Probe,
    fidelity: Fidelity,
    left_out: list[LeftOut],
) -> tuple[int, ...]:
    own = config.train.batch_size
    asked = config.search.batch_sizes or _doubled(own, config.search.max_batch_factor)
    device_mb, target = memory
    device_bound = _memory_bound(None if device_mb is None else device_mb / 1024, config, baseline)
    target_bound = _memory_bound(target.memory_gb, config, baseline)
    most = fidelity.examples // _FEWEST_STEPS_PER_EPOCH
    kept = []
    for batch in asked:
        if batch > most:
            reason = f"an epoch of {fidelity.examples:,} examples would have fewer than {_FEWEST_STEPS_PER_EPOCH} steps"
            left_out.append(LeftOut(f"batch {batch}", reason))
        elif device_bound is not None and batch > device_bound:
            left_out.append(LeftOut(f"batch {batch}", f"above this device's memory bound of about {device_bound}"))
        elif target_bound is not None and batch > target_bound:
            left_out.append(LeftOut(f"batch {batch}", f"above the target's memory bound of about {target_bound}"))
        else:
            kept.append(batch)
    return tuple(kept) or (own,)


def _memory_bound(memory_gb: float | None, config: Config, baseline: Probe) -> int | None:
    return batch_bound(
        memory_gb,
        baseline.effect.parameters,
        sum(layer.activations_per_example for layer in baseline.effect.layers),
        "float32",
        optimizer_slots=optimizer_slots(config),
    )


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
    config: Config, fidelity: Fidelity, longest_batch: float, left_out: list[LeftOut]
) -> tuple[int, ...]:
    steps_per_epoch = fidelity.examples // config.train.batch_size
    kept = tuple(steps for steps in config.search.steps_per_execution if steps <= steps_per_epoch)
    if any(steps > 1 for steps in kept):
        reason = (
            f"a step then takes over {_LONGEST_STEP_FOR_MORE_MS:.0f} ms at the baseline's speed, beside which the cost"
            " of a call is below 2 %"
        )
        left_out.append(LeftOut(f"steps_per_execution above 1 at batches above {int(longest_batch)}", reason))
    return kept or (1,)
