"""Measures a candidate's throughput, in blocks that alternate with the baseline's in the same process."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence

import keras

from autotune.decide import timing
from autotune.errors import TrialFault
from autotune.trial import Candidate, FailureKind, PipelineTiming, Probe, Recipe, Xla
from autotune.worker.child import effect, framework
from autotune.worker.child.blocks import Block, Stepper
from autotune.worker.child.build import ModelBuilder
from autotune.worker.child.conditions import Watch
from autotune.worker.child.faults import kind_of
from autotune.worker.child.feed import Feed
from autotune.worker.child.hooks import step_hooks
from autotune.worker.child.pipeline import time_pipeline
from autotune.worker.child.turns import in_turn
from autotune.worker.child.warmup import warm_up
from autotune.worker.protocol import ProbeArgs

# A block lasts at least so many times what its end costs: that is below 1 % of it, whatever `block_s` says.
_SYNCS_PER_BLOCK = 100

# Share of the time for timed blocks that warm-up may take at most.
_WARM_UP_SHARE = 0.2


class Prober:
    """Measures candidates; keeps the reference model alive between calls, so that it compiles once a process.

    Args:
        builder: of models.
        feed: of batches.
        callbacks: makes a person's own callbacks for a candidate; those that act in each step are part of it.
        watch: reads the machine's conditions.
    """

    def __init__(
        self,
        builder: ModelBuilder,
        feed: Feed,
        callbacks: Callable[[Candidate], Sequence[keras.callbacks.Callback]] = lambda _: (),
        watch: Watch | None = None,
    ) -> None:
        self._builder = builder
        self._feed = feed
        self._callbacks = callbacks
        self._watch = watch or Watch()
        self._reference: tuple[Candidate, _Timed] | None = None

    def probe(self, args: ProbeArgs) -> Probe:
        """Timed steps of `args.candidate`.

        Raises:
            TrialFault: it cannot be built, compiled or run.
            ConfigError: a person's own callback cannot be made.
        """
        reference = self._timed_reference(args)
        timed = self._timed(args.candidate, args.recipe, args)
        if reference is not None:
            # It stood idle while the candidate was built, and its first block after that is slow: by 5 % over 540
            # comparisons of one model with itself, which moved the estimate over ten pairs by half a per cent.
            reference.blocks(1)
        own, other = _alternate(timed, reference, args)
        loss = timed.stepper.loss
        finite = loss is not None and math.isfinite(loss)
        return Probe(
            candidate=args.candidate,
            effect=effect.inspect(timed.stepper.model),
            block_step_ms=tuple(block.step_ms for block in own),
            baseline_step_ms=tuple(block.step_ms for block in other),
            steps_per_block=timed.steps,
            warmup_step_ms=tuple(timed.warmup_ms),
            build_s=timed.build_s,
            first_step_s=timed.first_step_s,
            peak_memory_mb=timed.peak_memory_mb,
            loss=loss if finite else None,
            loss_finite=finite,
            baseline_batch_size=args.reference.batch_size if args.reference else 0,
            baseline_steps_per_block=reference.steps if reference else 0,
            conditions=tuple(block.conditions for block in own),
            baseline_conditions=tuple(block.conditions for block in other),
            sync_ms=timed.sync_ms,
            pipeline=_pipeline(timed, own) if args.pipeline else None,
            baseline_peak_memory_mb=reference.peak_memory_mb if reference else None,
            hopeless_below=args.hopeless_below if _given_up(own, other, args) else None,
        )

    def _timed_reference(self, args: ProbeArgs) -> _Timed | None:
        if args.reference is None or args.reference_recipe is None:
            return None
        if self._reference is None or self._reference[0] != args.reference:
            self._reference = (args.reference, self._timed(args.reference, args.reference_recipe, args))
        return self._reference[1]

    def _timed(self, candidate: Candidate, recipe: Recipe, args: ProbeArgs) -> _Timed:
        # A process's resident size does not tell what the second model takes: it reuses what the first has left.
        tells = framework.accelerator() == "GPU" or self._builder.asked == 0
        gc.collect()  # a model holds itself in cycles: the one before is alive until then, and would count as in use
        before_mb = framework.memory_mb()
        framework.reset_peak_memory()
        built = self._builder.build(candidate, recipe, args.seed)
        batches = self._feed.feeding(built.model, candidate, examples=recipe.examples, seed=None)
        hooks = step_hooks(self._callbacks(candidate))
        timed = _Timed(Stepper(built.model, batches, candidate, hooks, self._watch), built.build_s, args)
        peak_mb = framework.peak_memory_mb()  # before another model runs
        if tells and peak_mb is not None and before_mb is not None:
            timed.peak_memory_mb = max(0.0, peak_mb - before_mb)
        return timed


class _Timed:
    """A compiled and warmed-up model with its block length."""

    def __init__(self, stepper: Stepper, build_s: float, args: ProbeArgs) -> None:
        self.stepper = stepper
        self.build_s = build_s
        self.peak_memory_mb: float | None = None
        try:
            self.first_step_s = stepper.first_step_s()
        except TrialFault:
            raise  # it says what it is
        except Exception as error:
            raise _compile_fault(error, stepper.candidate) from error
        self.sync_ms = stepper.sync_ms()
        self.block_s = max(args.block_s, _SYNCS_PER_BLOCK * self.sync_ms / 1e3)
        self.warmup_ms = warm_up(
            self._warming,
            first_ms=stepper.step_ms(stepper.candidate.steps_per_execution),
            most_s=_WARM_UP_SHARE * args.max_s,
        )
        self.steps = args.steps_per_block or stepper.steps_for(self.block_s, min(self.warmup_ms[-2:]))

    def blocks(self, count: int) -> list[Block]:
        """So many blocks, one after another."""
        return self.stepper.blocks(self.steps, count)

    def _warming(self, step_ms: float, count: int) -> list[float]:
        steps = self.stepper.steps_for(self.block_s, step_ms)
        return [block.step_ms for block in self.stepper.blocks(steps, count)]


def _alternate(timed: _Timed, reference: _Timed | None, args: ProbeArgs) -> tuple[list[Block], list[Block]]:
    """Blocks of both in turn; of a model alone, as many as the fewest pairs."""
    began = time.perf_counter()

    def late(pairs: int) -> bool:
        return time.perf_counter() - began > args.max_s and pairs >= timing.FEWEST_PAIRS

    if reference is None:
        own: list[Block] = []
        while len(own) < args.min_pairs and not late(len(own)):
            own += timed.blocks(min(2, args.min_pairs - len(own)))
        return own, []

    def enough(other: list[Block], own: list[Block]) -> bool:
        return _enough(own, other, args) or _hopeless(own, other, args) or late(len(own))

    other, own = in_turn(reference.blocks, timed.blocks, args.min_pairs, args.max_pairs, enough)
    return own, other


def _pipeline(timed: _Timed, own: Sequence[Block]) -> PipelineTiming | None:
    step_ms = statistics.median(block.step_ms for block in own)
    return time_pipeline(timed.stepper, timed.steps, timed.block_s, step_ms=step_ms, compile_s=timed.first_step_s)


def _enough(own: Sequence[Block], other: Sequence[Block], args: ProbeArgs) -> bool:
    ratios = _ratios(own, other, args)
    return timing.enough(ratios, min_pairs=args.min_pairs, max_pairs=args.max_pairs, half_width=args.half_width)


def _hopeless(own: Sequence[Block], other: Sequence[Block], args: ProbeArgs) -> bool:
    if args.hopeless_below is None or args.reference is None:
        return False
    return timing.hopeless(_ratios(own, other, args), args.hopeless_below)


def _given_up(own: Sequence[Block], other: Sequence[Block], args: ProbeArgs) -> bool:
    """Whether sampling has ended for that alone."""
    return _hopeless(own, other, args) and not _enough(own, other, args)


def _ratios(own: Sequence[Block], other: Sequence[Block], args: ProbeArgs) -> list[float]:
    assert args.reference is not None
    before, after = [block.step_ms for block in other], [block.step_ms for block in own]
    return timing.log_ratios(before, after, args.reference.batch_size, args.candidate.batch_size)


def _compile_fault(error: Exception, candidate: Candidate) -> TrialFault:
    """A failure of the first call is one of compiling, if XLA was asked for and no other reason tells."""
    kind, message = kind_of(error)
    if kind in (FailureKind.INVALID, FailureKind.CRASH) and candidate.xla is Xla.ON:
        kind = FailureKind.COMPILE
    return TrialFault(kind, message, detail=repr(error)[:4000])
