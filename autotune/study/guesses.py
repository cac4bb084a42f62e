"""What a person would try first; informed by what the device's peaks let expect, where they are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autotune.space.space import Space
from autotune.study.prior import Expected, fastest
from autotune.trial import Candidate, Policy

# How many pairs of policy and batch the peaks may put among the first; the rest is the sampler's to find.
_MOST_EXPECTED = 4


def first_guesses(space: Space, expected: Expected | None = None) -> Iterator[Candidate]:
    """What a person would try first, at the user's own widths and with the baseline's XLA.

    The first of these is also the answer to the question that people ask: "what did mixed precision alone do?" Then the
    next batch, which changes least and so keeps the accuracy best, in 16 bit and in float32; then what large batches
    could give; then more steps per call where accuracy is safest.

    Args:
        space: what there is to guess from.
        expected: throughput by policy and batch; it decides which large batches are worth an early trial.
    """
    own = space.baseline
    following = min((size for size in space.batch_sizes if size > own.batch_size), default=own.batch_size)
    steps = max(space.steps_per_execution)
    xla = own.xla if own.xla in space.xla else space.xla[0]
    low = tuple(policy for policy in space.policies if not policy.is_float32) or space.policies
    order = [(policy, batch, 1) for batch in (own.batch_size, following) for policy in low]
    order.append((Policy("float32"), following, 1))
    order += [(policy, batch, 1) for policy, batch in _large(space, low, expected or {})]
    order += [(low[0], batch, steps) for batch in (own.batch_size, following)]
    guesses = [
        replace(own, policy=policy, batch_size=batch, xla=xla, steps_per_execution=calls)
        for policy, batch, calls in order
    ]
    guesses += _alone(space, replace(own, xla=xla))
    held = (guess for guess in guesses if guess.policy in space.policies and space.holds(guess))
    return iter(dict.fromkeys(held))


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
