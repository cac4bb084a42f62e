"""The objective as a ratio, baseline against candidate: above 1 is better, whatever it is that is improved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from autotune.decide import energy, timing
from autotune.trial import Interval, Probe

ENERGY, MEMORY = "energy", "memory"


def speedup(probe: Probe, baseline_batch: int) -> Interval:
    """Throughput of a paired probe over the baseline's.

    Where both were timed in workers of their own, pairs within a round are no pairs in time: each round gives one
    estimate, and the interval is a t interval over rounds.

    Args:
        probe: with the baseline's blocks.
        baseline_batch: examples per baseline step.
    """
    ratios = timing.log_ratios(probe.baseline_step_ms, probe.block_step_ms, baseline_batch, probe.candidate.batch_size)
    return _interval(probe, ratios)


def _interval(probe: Probe, ratios: Sequence[float]) -> Interval:
    """Of one log ratio a pair; the unit is the pair, or the round where the two were timed apart."""
    if not probe.apart_pairs:
        return timing.speedup(ratios)
    ends = [0]
    for pairs in probe.apart_pairs:
        ends.append(ends[-1] + pairs)
    rounds = [math.exp(timing.centre(ratios[start:end])) for start, end in pairwise(ends)]
    return replace(timing.pooled_speedup(rounds), method=f"t interval over {len(rounds)} rounds of alternating workers")


def gain(probe: Probe, objective: str) -> Interval | None:
    """Baseline over candidate in joules per example or in peak memory; None where the device did not report them.

    Memory is one reading of each in one process: its interval has no width, and only the spread between processes
    tells how far it can be trusted.
    """
    if objective == ENERGY:
        joules = energy.joules_per_example(probe)
        if joules is None:
            return None
        found = _interval(probe, [math.log(b / c) for c, b in zip(*joules, strict=True)])
        return replace(found, method=f"{found.method}, joules per example")
    if objective == MEMORY:
        own, other = probe.peak_memory_mb, probe.baseline_peak_memory_mb
        if not own or not other:
            return None
        return Interval(other / own, other / own, other / own, timing.LEVEL, 1, "one reading of peak memory each")
    raise ValueError(f"the gain of {objective} is not read from a probe")
