"""Intervals of ratios that are known, on real timings through the product's own worker."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

from autotune.config.schema import Config
from autotune.config.train import CallbackConfig
from autotune.decide import gain, timing
from autotune.trial import Interval, Probe, Stage
from tests.benchmarks.truth.counts import Count
from tests.benchmarks.truth.load import cores_taken
from tests.benchmarks.truth.workers import fresh_worker, small

_KNOWN = "tests.benchmarks.truth.known"

BASELINE = 20
"""Further steps that the baseline takes after each of its own."""


def true_speedup(further_steps: int) -> float:
    """Throughput of a model with so many further steps over the baseline's."""
    return (1 + BASELINE) / (1 + further_steps)


def config(*overrides: str) -> Config:
    """The digits perceptron with further steps after each; the worker must start in the repository's root."""
    widths = f"model.widths=[64,64,{BASELINE}]"
    chosen = small(f"model._target_={_KNOWN}.model", widths, *overrides)
    chosen.train.callbacks = [CallbackConfig(f"{_KNOWN}.FurtherSteps", {"batch_size": chosen.train.batch_size})]
    return chosen


@dataclass(frozen=True, slots=True)
class Known:
    """One comparison whose truth is known.

    Attributes:
        process: which fresh process it was measured in.
        truth: the true speedup.
    """

    process: int
    loaded: bool
    truth: float
    interval: Interval

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.interval.low <= self.truth <= self.interval.high

    @property
    def off(self) -> float:
        """Log of the estimate over the truth."""
        return log(self.interval.estimate / self.truth)


def interval_of(probe: Probe) -> Interval:
    """The product's own interval of a paired probe."""
    return gain.speedup(probe, probe.baseline_batch_size)


def measure(
    config: Config, folder: Path, process: int, *, each: int, further: Sequence[int], loaded: bool
) -> Iterator[Known]:
    """`each` comparisons in one fresh process, with these numbers of further steps in turn; both models are built anew.

    Args:
        process: its number.
        loaded: whether another process takes a core in random bursts meanwhile.
    """
    units = config.model.widths[:-1]
    beside = cores_taken(bursts=True, seed=process) if loaded else nullcontext()
    with fresh_worker(config, folder) as worker, beside:
        for number in range(each):
            steps = further[number % len(further)]
            reference = worker.candidate(again=number)
            probe = worker.probe(worker.candidate([*units, steps], again=number), reference, Stage.CONFIRM)
            yield Known(process, loaded, true_speedup(steps), interval_of(probe))


def off_by(found: Sequence[Known]) -> Interval:
    """Mean estimate over the truth, over all processes: 1 but for chance, if the truth is what it is held for."""
    by_process: dict[int, list[float]] = {}
    for known in found:
        by_process.setdefault(known.process, []).append(known.off)
    return timing.pooled_speedup([exp(timing.centre(values)) for values in by_process.values()])


def pooled(found: Sequence[Known], size: int = 3) -> Count:
    """How often the interval over `size` fresh processes covers the truth; every measurement is used once."""
    by_place: dict[tuple[float, int], list[Known]] = {}
    seen: dict[tuple[int, float], int] = {}
    for known in found:
        place = seen[known.process, known.truth] = seen.get((known.process, known.truth), -1) + 1
        by_place.setdefault((known.truth, place), []).append(known)
    groups = [
        across[start : start + size] for across in by_place.values() for start in range(0, len(across) - size + 1, size)
    ]
    return Count.over(_covers(group) for group in groups)


def pooled_by_replay(found: Sequence[Known], studies: int, seed: int = 0, size: int = 3) -> Count:
    """The same for processes and comparisons that are drawn at random; one measurement is in many draws."""
    chance = random.Random(seed)
    by_truth: dict[float, dict[int, list[Known]]] = {}
    for known in found:
        by_truth.setdefault(known.truth, {}).setdefault(known.process, []).append(known)
    truths = sorted(by_truth)
    drawn = []
    for number in range(studies):
        processes = by_truth[truths[number % len(truths)]]
        chosen = chance.sample(sorted(processes), size)
        drawn.append([chance.choice(processes[process]) for process in chosen])
    return Count.over(_covers(group) for group in drawn)


def _covers(group: Sequence[Known]) -> bool:
    interval = timing.pooled_speedup([known.interval.estimate for known in group])
    return interval.low <= group[0].truth <= interval.high
