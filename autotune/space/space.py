"""The search space of one study: every candidate, enumerable, and everything that was left out with its reason."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from autotune.trial import Candidate, LeftOut, Policy, SpaceSummary, Xla


@dataclass(frozen=True, slots=True)
class Space:
    """The choices of each dimension; `candidates` leaves out the combinations that make no sense, and the baseline.

    Attributes:
        largest_batch: by policy, the largest batch that fits into memory; None where that is not known.
        examples: of an epoch; its steps are a multiple of the steps per call, so that every candidate sees the same
            examples in the same order.
        longest_batch_for_more: the largest batch at which more than one step per call can pay; None for no such limit.
    """

    baseline: Candidate
    policies: tuple[Policy, ...]
    batch_sizes: tuple[int, ...]
    xla: tuple[Xla, ...]
    steps_per_execution: tuple[int, ...]
    widths: tuple[tuple[int, ...], ...]
    left_out: tuple[LeftOut, ...]
    largest_batch: tuple[tuple[Policy, int | None], ...]
    examples: int
    longest_batch_for_more: float | None

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
        batch, steps = candidate.batch_size, candidate.steps_per_execution
        bound = dict(self.largest_batch).get(candidate.policy)
        if bound is not None and bound < batch > self.baseline.batch_size:
            return False  # an estimate; the user's own batch has run here already
        if self.examples // batch % steps:
            return False
        if steps > 1 and self.longest_batch_for_more is not None and batch > self.longest_batch_for_more:
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
