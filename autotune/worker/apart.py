"""Baseline and candidate that one process cannot hold: timed in workers of their own, one after the other.

They do not fit into memory together, or differ in what is set for a whole process (TF32).

Pairs within a round are then no pairs in time, so the unit of what is concluded is the round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from autotune.errors import TrialFault
from autotune.trial import Probe
from autotune.worker.protocol import ProbeArgs

T = TypeVar("T")


def probe_apart(alone: Callable[[ProbeArgs], Probe], args: ProbeArgs, rounds: int) -> Probe:
    """One probe made of several rounds: in each, a fresh worker for the candidate and a fresh one for the baseline.

    Rounds alternate in their order, C B B C C B ..., so that a drift of the machine falls on both alike. The candidate
    is first: one that does not fit even alone has cost one worker.

    Args:
        alone: times one model without a reference, in a fresh worker.
        args: what was asked for both together.
        rounds: how many.

    Raises:
        TrialFault: the candidate could not be measured, or the baseline, which is then said.
    """
    assert args.reference is not None
    assert args.reference_recipe is not None
    # Whether one is hopeless shows beside the other alone.
    candidate = replace(args, reference=None, reference_recipe=None, hopeless_below=None)
    baseline = replace(candidate, candidate=args.reference, recipe=args.reference_recipe, pipeline=False)
    own: list[Probe] = []
    other: list[Probe] = []
    for number in range(rounds):
        turns = [(candidate, own), (baseline, other)]
        for asked, taken in turns if number % 2 == 0 else reversed(turns):
            try:
                taken.append(alone(_as_long_as(taken, asked)))
            except TrialFault as fault:
                if asked is candidate:
                    raise
                raise TrialFault(fault.kind, f"the baseline, timed by itself: {fault.message}", fault.detail) from fault
    return _joined(own, other)


def _as_long_as(taken: Sequence[Probe], args: ProbeArgs) -> ProbeArgs:
    """The same with blocks of as many steps as in the first round; the pipeline's share is taken once."""
    return replace(args, steps_per_block=taken[0].steps_per_block, pipeline=False) if taken else args


def _joined(own: Sequence[Probe], other: Sequence[Probe]) -> Probe:
    """The candidate's first probe with the blocks of all; within a round, as many of both."""
    pairs = [min(len(c.block_step_ms), len(b.block_step_ms)) for c, b in zip(own, other, strict=True)]
    return replace(
        own[0],
        block_step_ms=_together([probe.block_step_ms for probe in own], pairs),
        baseline_step_ms=_together([probe.block_step_ms for probe in other], pairs),
        conditions=_together([probe.conditions for probe in own], pairs),
        baseline_conditions=_together([probe.conditions for probe in other], pairs),
        baseline_batch_size=other[0].candidate.batch_size,
        baseline_steps_per_block=other[0].steps_per_block,
        loss=own[-1].loss,
        loss_finite=all(probe.loss_finite for probe in own),
        peak_memory_mb=_largest([probe.peak_memory_mb for probe in own]),
        baseline_peak_memory_mb=_largest([probe.peak_memory_mb for probe in other]),
        apart_pairs=tuple(pairs),
    )


def _together(rounds: Sequence[tuple[T, ...]], pairs: Sequence[int]) -> tuple[T, ...]:
    return tuple(value for values, count in zip(rounds, pairs, strict=True) for value in values[:count])


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
