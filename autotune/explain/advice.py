"""What would gain most at the user's own model, by prediction: one change at a time, then the best of all."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config.hardware import DeviceKind
from autotune.explain.forecast import Gain, Setting
from autotune.explain.situation import Situation
from autotune.hardware.roofline import batch_bound

# An epoch of fewer steps than this trains something else than the user's model.
_FEWEST_STEPS = 8
_MOST_STEPS_A_CALL = 8
_LARGEST_FACTOR = 16

LITTLE = 1.15
"""Less than this is little to gain, given how rough a prediction is."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One change of the user's own settings in float32.

    Attributes:
        change: for a person.
        override: the keys to set.
        gain: predicted throughput over the user's own settings.
    """

    change: str
    override: str
    setting: Setting
    gain: Gain

    @property
    def worthwhile(self) -> bool:
        """Whether it gains more than a little, typically."""
        return self.gain.ratio >= LITTLE


def batch_sizes(situation: Situation) -> tuple[int, ...]:
    """The user's own batch and its doublings, as far as the target's memory and an epoch's steps allow."""
    facts, own = situation.facts, situation.batch_size
    elements = 0
    for layer in facts.float32.layers:
        size = 1
        for length in layer.output[1:]:
            size *= length
        elements += size if layer.output else 0
    parameters = sum(layer.parameters for layer in facts.float32.layers)
    fits = batch_bound(
        situation.target.memory_gb, parameters, elements, "float32", optimizer_slots=facts.variables_per_weight
    )
    examples = situation.config.train.examples or facts.targets.examples
    most = min(own * _LARGEST_FACTOR, examples // _FEWEST_STEPS, fits if fits is not None else 2**31)
    sizes = [own]
    while sizes[-1] * 2 <= most:
        sizes.append(sizes[-1] * 2)
    return tuple(sizes)


def advise(situation: Situation) -> tuple[Advice, ...]:
    """Each change by itself, the one that gains most first; at the end the best combination."""
    own = Setting("float32", situation.batch_size)
    single = [_advice(situation, *change) for change in _changes(situation, own)]
    known = sorted((one for one in single if one is not None), key=lambda one: -one.gain.ratio)
    best = _together(situation, known)
    return (*known, best) if best is not None else tuple(known)


def _changes(situation: Situation, own: Setting) -> list[tuple[str, str, Setting]]:
    largest = batch_sizes(situation)[-1]
    changes = [
        (policy, f"search.policies=[{policy}]", Setting(policy, own.batch_size))
        for policy in situation.offered
        if policy != "float32" and not situation.fails_in_16_bit
    ]
    if largest > own.batch_size:
        changes.append(
            (f"a batch of {largest}", f"train.batch_size={largest}", Setting("float32", largest)),
        )
    if situation.target.kind is DeviceKind.gpu:  # a forecast that is None where a layer refuses it
        changes.append(("XLA", "search.xla=[true]", Setting("float32", own.batch_size, xla=True)))
    steps = _MOST_STEPS_A_CALL
    changes.append(
        (
            f"{steps} steps a call",
            f"search.steps_per_execution=[{steps}]",
            Setting("float32", own.batch_size, steps_per_execution=steps),
        )
    )
    return changes


def _advice(situation: Situation, change: str, override: str, setting: Setting) -> Advice | None:
    found = situation.over_own(setting)
    return None if found is None else Advice(change, override, setting, found)


def _together(situation: Situation, known: list[Advice]) -> Advice | None:
    """All changes that gain something; of policies, the best."""
    useful = [one for one in known if one.gain.ratio > 1.02]
    policies = [one for one in known if one.setting.policy != "float32"]
    if len(useful) < 2:
        return None
    batch = max(one.setting.batch_size for one in useful)
    at_batch = [
        Setting(
            policy, batch, any(one.setting.xla for one in useful), max(s.setting.steps_per_execution for s in useful)
        )
        for policy in ("float32", *(one.setting.policy for one in policies))
    ]
    rated = [(found, setting) for setting in at_batch if (found := situation.over_own(setting)) is not None]
    if not rated:
        return None
    found, setting = max(rated, key=lambda pair: pair[0].ratio)
    overrides = {one.override for one in useful if one.setting.policy == "float32"}
    if setting.policy != "float32":
        overrides.add(f"search.policies=[{setting.policy}]")
    return Advice(f"together: {setting}", " ".join(sorted(overrides)), setting, found)


def conclusion(situation: Situation) -> str:
    """The answer in one sentence: what a step waits for, and whether 16 bit alone gains anything."""
    own = situation.own()
    if own is None:
        return f"nothing is predicted: peak rates or bandwidth of {situation.target.title} are not known"
    bound = {"host": "host-bound", "compute": "compute-bound", "memory": "memory-bound"}[own.bound]
    share = own.host_ms / own.step_ms
    text = (
        f"{bound} at batch {situation.batch_size}: the host takes {share:.0%} of a predicted {own.step_ms:.3g} ms step"
    )
    policy = situation.best_16_bit
    found = situation.over_own(Setting(policy, situation.batch_size)) if policy else None
    if policy is None:
        return f"{text}; {situation.target.title} has no fast 16-bit products, so no policy gains"
    if situation.fails_in_16_bit:
        return f"{text}; every trial in 16 bit would fail ({situation.fails_in_16_bit})"
    if found is None:
        return text
    little = "little to gain" if found.ratio < LITTLE else "something to gain"
    return f"{text}, {little} from {policy} alone ({found})"
