"""What requests cost on a landscape's machine [s], worked out from the durations that were recorded.

Other work ran on the machine while it was recorded, and what others took is no cost of a search. So what was recorded
several times costs what it took at its quietest: the least over turns, seeds and workers. A step takes what the ratios
to the baseline say, which are paired and feel no load, at the baseline's quiet step time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from statistics import median, quantiles

from autotune.decide import timing
from autotune.trial import Candidate, Recipe
from tests.benchmarks.search.landscape import Landscape, Timing, Training

# How many blocks a `fit` takes where two models are timed in turn.
_BLOCKS_A_FIT = 2


class Prices:
    """Of one landscape; every figure is worked out once."""

    def __init__(self, landscape: Landscape) -> None:
        self._landscape = landscape
        self._step_ms = cache(self._step_time_ms)
        self._making_s = cache(self._making)
        self._training_s = cache(self._whole_training)

    @property
    def worker_s(self) -> float:
        """A worker's start."""
        return min(start.start_s for start in self._landscape.starts)

    def step_ms(self, candidate: Candidate) -> float:
        """One step on the quiet machine [ms]."""
        return self._step_ms(candidate)

    def making_s(self, candidate: Candidate) -> float:
        """Building, compiling and warming up for a timing."""
        return self._making_s(candidate)

    def block_steps(self, candidate: Candidate, block_s: float) -> int:
        """Optimizer steps of a block that lasts `block_s` at least."""
        calls = candidate.steps_per_execution
        return max(1, math.ceil(block_s * 1e3 / (self.step_ms(candidate) * calls))) * calls

    def block_s(self, candidate: Candidate, block_s: float) -> float:
        """A block and its share of what comes before the clock starts."""
        steps = self.block_steps(candidate, block_s)
        return (steps + _lead_in(candidate, steps) / _BLOCKS_A_FIT) * self.step_ms(candidate) / 1e3

    def training_s(self, candidate: Candidate, recipe: Recipe) -> tuple[float, float, float]:
        """The whole request, and of it the training alone, evaluation apart, and one evaluation."""
        whole_s, train_s, evaluation_s = self._training_s(self._landscape.trained(candidate))
        trained_ms = self.step_ms(self._landscape.trained(candidate))
        # Of what is trained for all that train alike, each takes its own steps.
        faster_s = recipe.total_steps * (trained_ms - self.step_ms(candidate)) / 1e3
        fewer_s = (self._landscape.head.evaluations - recipe.evaluations) * evaluation_s
        return whole_s - faster_s - fewer_s, train_s - faster_s, evaluation_s

    def _step_time_ms(self, candidate: Candidate) -> float:
        landscape = self._landscape
        own = landscape.baseline
        blocks = [ms for timings in landscape.timings.values() for one in timings for ms in one.baseline_ms]
        blocks += [ms for one in landscape.timings[own] for ms in one.own_ms]
        quiet_ms = quantiles(blocks, n=10)[0]
        return quiet_ms * candidate.batch_size / own.batch_size / landscape.speedup(candidate)

    def _making(self, candidate: Candidate) -> float:
        found = [one for one in self._landscape.timings[candidate] if one.failure is None]
        if not found:
            return min(one.wall_s for one in self._landscape.timings[candidate])
        return min(one.build_s + one.first_step_s + _warming_s(one, candidate) for one in found)

    def _whole_training(self, candidate: Candidate) -> tuple[float, float, float]:
        """The whole request, the training alone, one evaluation [s]."""
        runs = [run for run in self._landscape.trainings[candidate].values() if run.failure is None]
        if not runs:
            failed = self._landscape.trainings[candidate].values()
            return min((run.wall_s for run in failed), default=0.0), 0.0, 0.0
        whole_s, train_s = min(run.wall_s for run in runs), min(run.train_s for run in runs)
        return whole_s, min(train_s, whole_s), self._evaluation_s()

    def _evaluation_s(self) -> float:
        """One evaluation: at most what a training's request took beside the training, of the median group."""
        evaluated = self._landscape.head.evaluations
        return median(
            min((run.wall_s - run.train_s) / evaluated for run in _done(runs.values()))
            for runs in self._landscape.trainings.values()
            if _done(runs.values())
        )


def _done(runs: Iterable[Training]) -> list[Training]:
    return [run for run in runs if run.failure is None]


def _warming_s(found: Timing, candidate: Candidate) -> float:
    """Blocks before timing begins; the first of them is one execution, and the next two share a lead-in."""
    later = len(found.warmup_ms) - 1
    before_later = _lead_in(candidate, found.steps)
    steps = [candidate.steps_per_execution, *[found.steps] * later]
    lead_ins = [0, *[before_later if number != 1 else 0 for number in range(later)]]
    taken = zip(found.warmup_ms, steps, lead_ins, strict=True)
    return sum(step_ms * (count + lead_in) for step_ms, count, lead_in in taken) / 1e3


def _lead_in(candidate: Candidate, steps: int) -> int:
    """Steps of a `fit` before blocks of so many."""
    calls = candidate.steps_per_execution
    return timing.lead_in(steps // calls) * calls
