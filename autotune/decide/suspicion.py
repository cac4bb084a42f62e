"""Which pairs of blocks were disturbed, and by what. They are flagged for a reader; every pair counts as all others do.

Dropping what looks odd would make intervals too narrow and let the choice of a rule move the answer; the estimate over
pairs (`autotune.decide.timing`) hardly moves by single ones anyway.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from autotune.trial import BlockConditions, Probe, Suspicion

MOST_FOREIGN_CPU = 0.10
"""Share of the cores' time. The kernel counts in ticks of 10 ms: of the 20 in a block of 0.1 s on two cores, one or two
are rounding, and a daemon that wakes up takes one. One process on one of up to ten cores is above it."""

MOST_STEAL = 0.02
"""Share of the cores' time. Steal is no rounding of anything: it is 0 on a machine of one's own, and a step that waits
for its slowest thread loses several times the share that was taken."""

MOST_QUOTA_THROTTLED = 0.02
"""Share of the time that the worker wanted to run. A group that has used up its quota waits for the rest of a period of
0.1 s (the kernel's usual one): it is either 0 or a good part of a block. How much of it falls on a block is chance."""

MOST_CLOCK_CHANGE = 0.05
"""Of the median over the model's own blocks in this probe. Boost clocks step by 15 MHz, 1 % of a usual one: several
steps within a probe are another operating point. Baseline and candidate each have their own, since a candidate that
draws more power and runs slower for it is no disturbance."""

OUTLYING = 5.0
"""Robust standard deviations from the probe's other ratios. Normal noise exceeds 5 true ones once in 1.7 million pairs;
of deviations estimated from so few (simulated), once in 60 where a probe has ten pairs, in 2,000 if it has thirty."""

SMALLEST_OUTLIER = 0.05
"""And at least this far from them: on a quiet machine pairs agree within a per mille, and 5 deviations are nothing."""

# The median absolute deviation of a normal distribution is 0.6745 standard deviations.
_SD_PER_MAD = 1.4826


def suspicions(probe: Probe) -> tuple[Suspicion, ...]:
    """The disturbed pairs of a probe, in order, one entry a pair; of the baseline's own probe, its blocks."""
    series = (probe.conditions, probe.baseline_conditions)
    clocks_mhz = [_median([block.gpu_clock_mhz for block in blocks]) for blocks in series]
    found = []
    for pair in range(len(probe.block_step_ms)):
        blocks = [(taken[pair], clock) for taken, clock in zip(series, clocks_mhz, strict=True) if pair < len(taken)]
        reasons = [*_disturbances(blocks), *_outlier(_logs(probe), pair)]
        if reasons:
            found.append(Suspicion(pair, "; ".join(reasons)))
    return tuple(found)


def overhead_share(probe: Probe) -> float | None:
    """Share of the shorter block that its timer and its wait may be wrong by, 0 to 1; `None` if it was not measured."""
    lengths_ms = [step_ms * probe.steps_per_block for step_ms in probe.block_step_ms]
    lengths_ms += [step_ms * probe.baseline_steps_per_block for step_ms in probe.baseline_step_ms]
    if probe.sync_ms is None or min(lengths_ms, default=0.0) <= 0:
        return None
    return probe.sync_ms / min(lengths_ms)


def _disturbances(blocks: Sequence[tuple[BlockConditions, float | None]]) -> Iterator[str]:
    """What the conditions of a pair's blocks tell, each with the usual clock of its series [MHz]."""
    foreign = max((block.foreign_cpu or 0.0 for block, _ in blocks), default=0.0)
    if foreign > MOST_FOREIGN_CPU:
        yield f"other processes took {foreign * 100:.0f} % of the CPU"
    steal = max((block.steal or 0.0 for block, _ in blocks), default=0.0)
    if steal > MOST_STEAL:
        yield f"the hypervisor took {steal * 100:.0f} % of the CPU"
    held_back = max((block.quota_throttled or 0.0 for block, _ in blocks), default=0.0)
    if held_back > MOST_QUOTA_THROTTLED:
        yield f"the CPU quota held the worker back for {held_back * 100:.0f} % of the time"
    throttled = sorted({name for block, _ in blocks for name in block.throttled or ()})
    if throttled:
        yield f"the GPU held its clock back ({', '.join(throttled)})"
    for block, usual_mhz in blocks:
        if block.gpu_clock_mhz and usual_mhz and abs(block.gpu_clock_mhz / usual_mhz - 1) > MOST_CLOCK_CHANGE:
            yield f"the GPU ran at {block.gpu_clock_mhz:.0f} MHz instead of {usual_mhz:.0f}"


def _logs(probe: Probe) -> list[float]:
    """Log of each pair's ratio; of the step time, where there are no pairs."""
    if not probe.baseline_step_ms:
        return [math.log(step_ms) for step_ms in probe.block_step_ms]
    return [math.log(b / c) for b, c in zip(probe.baseline_step_ms, probe.block_step_ms, strict=True)]


def _outlier(logs: Sequence[float], pair: int) -> Iterator[str]:
    others = [*logs[:pair], *logs[pair + 1 :]]
    if len(others) < 3:
        return
    middle = statistics.median(others)
    deviation = _SD_PER_MAD * statistics.median(abs(value - middle) for value in others)
    off = logs[pair] - middle
    if abs(off) > OUTLYING * deviation and abs(math.expm1(off)) >= SMALLEST_OUTLIER:
        yield f"it lies {math.expm1(off) * 100:+.0f} % off the others"


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
