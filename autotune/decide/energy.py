"""Energy of a training step, as the device's own counter reports it."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.trial import BlockConditions, Probe


def joules_per_example(probe: Probe) -> tuple[list[float], list[float]] | None:
    """Energy per training example of each block [J], of the candidate and of the baseline, paired.

    It is the whole board's, idle power included: a step that takes longer pays for the time.

    Returns:
        `None` without pairs, where the device does not count energy, or where the counter stood still during a block
        (drivers renew it some tens of times a second, so that a block may be too short for it).
    """
    own = _per_example(probe.conditions, probe.steps_per_block * probe.candidate.batch_size)
    other = _per_example(probe.baseline_conditions, probe.baseline_steps_per_block * probe.baseline_batch_size)
    return (own, other) if own and other and len(own) == len(other) else None


def _per_example(blocks: Sequence[BlockConditions], examples: int) -> list[float]:
    """Nothing, unless every block tells."""
    joules = [block.energy_j for block in blocks if block.energy_j]
    return [used / examples for used in joules] if examples and len(joules) == len(blocks) else []
