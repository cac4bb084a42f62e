"""The search space of one study: every candidate, enumerable, and everything that was left out with its reason."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from autotune.trial import Candidate, LeftOut, Pipeline, Policy, SpaceSummary, Xla

Kind = tuple[Policy, bool, Pipeline]
"""What decides how much memory is left for a batch: policy, whether gradients accumulate, and the pipeline."""


@dataclass(frozen=True, slots=True)
class Space:
    """The choices of each dimension; `candidates` leaves out the combinations that make no sense, and the baseline.

    Attributes:
        largest_batch: by policy, the largest batch that fits into memory; None where that is not known.
        examples: of an epoch; its steps are a multiple of the steps per call, so that every candidate sees the same
            examples in the same order.
        longest_batch_for_more: the largest batch at which more than one step per call can pay; None for no such limit.
        accumulations: micro-batches per optimizer step; they divide the batch.
        tf32: settings for float32, the user's own first, which is everybody else's.
        pipelines: where batches are put together.
        largest_micro_batch: as `largest_batch`, for candidates that accumulate, or whose data are on the device.
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
    accumulations: tuple[int, ...] = (1,)
    tf32: tuple[bool | None, ...] = (None,)
    pipelines: tuple[Pipeline, ...] = (Pipeline.HOST,)
    largest_micro_batch: tuple[tuple[Kind, int | None], ...] = ()

    def candidates(self) -> Iterator[Candidate]:
        """Every candidate, each once."""
        for policy, batch, xla, steps, widths in itertools.product(
            self.policies, self.batch_sizes, self.xla, self.steps_per_execution, self.widths
        ):
            for parts, tf32, pipeline in itertools.product(self.accumulations, self.tf32, self.pipelines):
                candidate = Candidate(policy, batch, xla, widths, steps, parts, tf32, pipeline)
                if self.holds(candidate):
                    yield candidate

    def holds(self, candidate: Candidate) -> bool:
        """Whether a combination of choices is a candidate."""
        batch, steps = candidate.batch_size, candidate.steps_per_execution
        if batch % candidate.accumulation or not self._fits(candidate):
            return False
        if not candidate.policy.is_float32 and candidate.tf32 != self.baseline.tf32:
            return False
        if self.examples // batch % steps:
            return False
        if steps > 1 and self.longest_batch_for_more is not None and batch > self.longest_batch_for_more:
            return False
        return candidate != self.baseline

    def _fits(self, candidate: Candidate) -> bool:
        """Whether what is on the device at once is within the bound, an estimate; the user's own batch has run here."""
        if candidate.batch_size <= self.baseline.batch_size and candidate.pipeline is Pipeline.HOST:
            return True
        kind = (candidate.policy, candidate.accumulation > 1, candidate.pipeline)
        bound = dict(self.largest_micro_batch).get(kind, dict(self.largest_batch).get(candidate.policy))
        return bound is None or candidate.micro_batch <= bound

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
            accumulation=self.accumulations,
            tf32=self.tf32,
            pipeline=tuple(pipeline.value for pipeline in self.pipelines),
        )
