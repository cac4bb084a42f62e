"""Energy of a training step, as the device's own counter reports it."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.decide.timing import FEWEST_PAIRS
from autotune.trial import BlockConditions, Probe


def joules_per_example(probe: Probe) -> tuple[list[float], list[float]] | None:
    """Energy per training example of each block [J], of the candidate and of the baseline, paired.

    It is the whole board's, idle power included: a step that takes longer pays for the time.

    A pair is left out if one of its blocks has no reading above 0: the counter failed, began anew, or stood still
    (drivers renew it some tens of times a second, so that a block may be too short for it). It is left out here alone;
    the pair's step times count as all others do.

    Returns:
        `None` without pairs, where the device does not count energy, or where fewer than six pairs remain. Also where
        any pair would be left out of a probe that was timed apart: its rounds are known by their numbers of pairs.
    """
    own = _per_example(probe.conditions, probe.steps_per_block * probe.candidate.batch_size)
    other = _per_example(probe.baseline_conditions, probe.baseline_steps_per_block * probe.baseline_batch_size)
    if len(own) != len(other):
        return None
    kept = [(c, b) for c, b in zip(own, other, strict=True) if c is not None and b is not None]
    if len(kept) < FEWEST_PAIRS or (probe.apart_pairs and len(kept) < len(own)):
        return None
    return [c for c, _ in kept], [b for _, b in kept]


def _per_example(blocks: Sequence[BlockConditions], examples: int) -> list[float | None]:
    """One entry a block, None where it does not tell; nothing without examples."""
    if not examples:
        return []
    return [block.energy_j / examples if block.energy_j and block.energy_j > 0 else None for block in blocks]
