"""What a person would try first; informed by what the device's peaks let expect, where they are known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from autotune.space.space import Space
from autotune.study.prior import Expected, fastest
from autotune.trial import Candidate, Policy

# How many pairs of policy and batch the peaks may put among the first; the rest is the sampler's to find.
_MOST_EXPECTED = 4

# What screening may be wrong by in the log of a policy's gain for each doubling of the batch that it has not seen.
_WRONG_BY = 0.1


def first_guesses(space: Space, expected: Expected | None = None) -> Iterator[Candidate]:
    """What a person would try first, at the user's own widths and with the baseline's XLA.

    The first of these is also the answer to the question that people ask: "what did mixed precision alone do?" Then the
    next batch, which changes least and so keeps the accuracy best, in 16 bit and in float32; then what large batches
    could give; then more steps per call where accuracy is safest.

    Args:
        space: what there is to guess from.
        expected: throughput by policy and batch; it decides which large batches are worth an early trial.
    """
    own = own_where_searched(space)
    following = next_batch(space)
    fewest, most = own.steps_per_execution, max(space.steps_per_execution)
    low = tuple(policy for policy in space.policies if not policy.is_float32) or space.policies
    order = [(policy, batch, fewest) for batch in (own.batch_size, following) for policy in low]
    order.append((Policy("float32"), following, fewest))
    order += [(policy, batch, fewest) for policy, batch in _large(space, low, expected or {})]
    order += [(low[0], batch, most) for batch in (own.batch_size, following)]
    guesses = [
        replace(own, policy=policy, batch_size=batch, steps_per_execution=steps) for policy, batch, steps in order
    ]
    guesses += _alone(space, own)
    held = (guess for guess in guesses if guess.policy in space.policies and space.holds(guess))
    return iter(dict.fromkeys(held))


def next_batch(space: Space) -> int:
    """The smallest batch above the user's own, which changes least and so keeps the accuracy best; else the own."""
    own = space.baseline.batch_size
    return min((size for size in space.batch_sizes if size > own), default=own)


def opening(guesses: Iterable[Candidate], space: Space) -> list[Candidate]:
    """The guesses up to the first large batch: enough for what is told of factors (`autotune.study.together`)."""
    found: list[Candidate] = []
    for guess in guesses:
        found.append(guess)
        if guess.batch_size > next_batch(space):
            break
    return found


def where_16_bit_pays(guess: Candidate, speedups: Mapping[Candidate, float]) -> Candidate:
    """The guess; in float32 if 16 bit was slower wherever both were measured, and will be at this batch too.

    At a small batch 16 bit may lose only since the host is busier, and win at a larger one. So what it gains over
    float32 is followed to the guess's batch, at the rate at which it grew with those that were measured.

    Args:
        guess: one of `first_guesses`.
        speedups: of what was measured, the baseline's own among them, in comparable units.
    """
    gains = {
        one.batch_size: math.log(speedup / speedups[other])
        for one, speedup in speedups.items()
        if one.policy == guess.policy and (other := replace(one, policy=Policy("float32"))) in speedups
    }
    if guess.policy.is_float32 or len(gains) < 2 or max(gains.values()) >= 0:
        return guess
    smallest, largest = min(gains), max(gains)
    growth = (gains[largest] - gains[smallest]) / math.log2(largest / smallest)
    further = max(0.0, math.log2(guess.batch_size / largest))
    if gains[largest] + (max(0.0, growth) + _WRONG_BY) * further >= 0:
        return guess
    return replace(guess, policy=Policy("float32"))


def own_where_searched(space: Space) -> Candidate:
    """The baseline; a setting of it that is not searched gives way to the one that is searched in its place.

    Policy, batch and widths stay. So does TF32, whose choices always hold the user's own.
    """
    own = space.baseline
    steps = own.steps_per_execution
    return replace(
        own,
        xla=own.xla if own.xla in space.xla else space.xla[0],
        steps_per_execution=steps if steps in space.steps_per_execution else min(space.steps_per_execution),
        accumulation=own.accumulation if own.accumulation in space.accumulations else space.accumulations[0],
        pipeline=own.pipeline if own.pipeline in space.pipelines else space.pipelines[0],
    )


def _alone(space: Space, own: Candidate) -> list[Candidate]:
    """What each dimension that is searched only when asked for does by itself."""
    return [
        *(replace(own, tf32=value) for value in space.tf32),
        *(replace(own, pipeline=value) for value in space.pipelines),
        *(replace(own, accumulation=value) for value in space.accumulations),
    ]


def _large(space: Space, policies: tuple[Policy, ...], expected: Expected) -> list[tuple[Policy, int]]:
    """Pairs with larger batches: those of which most is expected, or the largest and the middle one."""
    if expected:
        return fastest(expected, policies)[:_MOST_EXPECTED]
    sizes = sorted(space.batch_sizes)
    return [(policy, batch) for batch in (sizes[-1], sizes[len(sizes) // 2]) for policy in policies]
