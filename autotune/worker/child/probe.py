"""Measures a candidate's throughput, in blocks that alternate with the baseline's in the same process."""

from __future__ import annotations

import math
import time

from autotune.decide import timing
from autotune.errors import TrialFault
from autotune.trial import Candidate, FailureKind, Probe, Recipe, Xla
from autotune.worker.child import effect, framework
from autotune.worker.child.blocks import Stepper
from autotune.worker.child.build import ModelBuilder
from autotune.worker.child.faults import kind_of
from autotune.worker.child.feed import Feed
from autotune.worker.protocol import ProbeArgs

# Warm-up ends when two neighbouring blocks differ by less than this share, or after so many.
_AGREE = 0.1
_MOST_WARMUP_BLOCKS = 5

# An interval needs so many pairs, however long they take.
_FEWEST_PAIRS = 6


class Prober:
    """Measures candidates; keeps the reference model alive between calls, so that it compiles once a process."""

    def __init__(self, builder: ModelBuilder, feed: Feed) -> None:
        self._builder = builder
        self._feed = feed
        self._reference: tuple[Candidate, _Timed] | None = None

    def probe(self, args: ProbeArgs) -> Probe:
        """Timed steps of `args.candidate`.

        Raises:
            TrialFault: it cannot be built, compiled or run.
        """
        reference = self._timed_reference(args) if args.reference else None
        before_mb = framework.memory_mb()
        framework.reset_peak_memory()
        timed = _Timed(self._builder, self._feed, args.candidate, args.recipe, args)
        peak_mb = framework.peak_memory_mb()  # before the reference runs again
        own, other = _alternate(timed, reference, args)
        loss = timed.stepper.loss
        finite = loss is not None and math.isfinite(loss)
        return Probe(
            candidate=args.candidate,
            effect=effect.inspect(timed.stepper.model),
            block_step_ms=tuple(own),
            baseline_step_ms=tuple(other),
            steps_per_block=timed.steps,
            warmup_step_ms=tuple(timed.warmup_ms),
            build_s=timed.build_s,
            first_step_s=timed.first_step_s,
            peak_memory_mb=None if peak_mb is None or before_mb is None else max(0.0, peak_mb - before_mb),
            loss=loss if finite else None,
            loss_finite=finite,
        )

    def _timed_reference(self, args: ProbeArgs) -> _Timed:
        assert args.reference is not None
        assert args.reference_recipe is not None
        if self._reference is None or self._reference[0] != args.reference:
            made = _Timed(self._builder, self._feed, args.reference, args.reference_recipe, args)
            self._reference = (args.reference, made)
        return self._reference[1]


class _Timed:
    """A built, compiled and warmed-up model with its block length."""

    def __init__(
        self, builder: ModelBuilder, feed: Feed, candidate: Candidate, recipe: Recipe, args: ProbeArgs
    ) -> None:
        built = builder.build(candidate, recipe, args.seed)
        batches = feed.batches(examples=recipe.examples, batch_size=candidate.batch_size, seed=args.seed)
        self.build_s = built.build_s
        self.stepper = Stepper(built.model, batches, candidate)
        try:
            self.first_step_s = self.stepper.first_step_s()
        except Exception as error:
            raise _compile_fault(error, candidate) from error
        self.warmup_ms = [self.stepper.step_ms(candidate.steps_per_execution)]
        self.steps = self.stepper.steps_for(args.block_s, self.warmup_ms[0])
        while len(self.warmup_ms) < _MOST_WARMUP_BLOCKS:
            self.warmup_ms.append(self.stepper.step_ms(self.steps))
            last, now = self.warmup_ms[-2:]
            if len(self.warmup_ms) > 2 and abs(now - last) <= _AGREE * now:
                break
        self.steps = self.stepper.steps_for(args.block_s, self.warmup_ms[-1])

    def block_ms(self) -> float:
        return self.stepper.step_ms(self.steps)


def _alternate(timed: _Timed, reference: _Timed | None, args: ProbeArgs) -> tuple[list[float], list[float]]:
    """Blocks of both in turn, A B B A A B ..., so that a drift of the machine falls on both alike."""
    own: list[float] = []
    other: list[float] = []
    began = time.perf_counter()
    while True:
        if reference is None:
            own.append(timed.block_ms())
            if len(own) >= args.min_pairs:
                return own, other
        else:
            reference_first = len(own) % 2 == 0
            if reference_first:
                other.append(reference.block_ms())
            own.append(timed.block_ms())
            if not reference_first:
                other.append(reference.block_ms())
            ratios = timing.log_ratios(other, own, 1, 1)
            if timing.enough(ratios, min_pairs=args.min_pairs, max_pairs=args.max_pairs, half_width=args.half_width):
                return own, other
        if time.perf_counter() - began > args.max_s and len(own) >= _FEWEST_PAIRS:
            return own, other


def _compile_fault(error: Exception, candidate: Candidate) -> TrialFault:
    """A failure of the first call is one of compiling, if XLA was asked for and memory was not what ran out."""
    kind, message = kind_of(error)
    if kind is FailureKind.INVALID and candidate.xla is Xla.ON:
        kind = FailureKind.COMPILE
    return TrialFault(kind, message, detail=repr(error)[:4000])
