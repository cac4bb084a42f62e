"""A machine that drifts: another process takes half of its cores in the middle of a measurement of two equal models."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from autotune.config.schema import Config
from autotune.decide import timing
from autotune.hardware.host import read_host
from autotune.trial import Interval, Probe, Stage
from tests.benchmarks.truth.coverage import interval_of
from tests.benchmarks.truth.load import cores_taken
from tests.benchmarks.truth.workers import Worker, fresh_worker, small

PAIRS = 30


@dataclass(frozen=True, slots=True)
class Repetition:
    """The baseline against itself, four times; every ratio is 1 in truth.

    Attributes:
        quiet: interleaved, undisturbed.
        disturbed: interleaved; cores are taken halfway.
        naive: medians of one after the other, undisturbed.
        naive_disturbed: the same; cores are taken between the two.
        slowdown: of the baseline's blocks, last third over first third of the disturbed measurement.
    """

    quiet: Interval
    disturbed: Interval
    naive: float
    naive_disturbed: float
    slowdown: float

    @property
    def stays(self) -> bool:
        """Whether the disturbed ratio lies within the undisturbed interval."""
        return self.quiet.low <= self.disturbed.estimate <= self.quiet.high


def config() -> Config:
    """A step that uses all cores of a small machine, and as many pairs in every measurement: half of them is known."""
    model = ("model.widths=[512,256]", "train.batch_size=64", "search.timing.block_s=0.1")
    pairs = (f"search.timing.min_pairs={PAIRS}", f"search.timing.max_pairs={PAIRS}", "search.timing.max_s=120")
    return small(*model, *pairs)


def repeat(config: Config, folder: Path, times: int) -> Iterator[Repetition]:
    """Each in a fresh process."""
    for _ in range(times):
        with fresh_worker(config, folder) as worker:
            yield _once(worker)


def _once(worker: Worker) -> Repetition:
    model = worker.candidate()
    worker.probe(model, model, Stage.CONFIRM)  # the process and its baseline are warm from here on
    began = time.perf_counter()
    quiet = worker.probe(model, model, Stage.CONFIRM)
    took_s = time.perf_counter() - began
    untimed_s = quiet.build_s + quiet.first_step_s + sum(quiet.warmup_step_ms[1:]) * quiet.steps_per_block / 1e3
    with _cores_taken_after(untimed_s + (took_s - untimed_s) / 2):
        disturbed = worker.probe(model, model, Stage.CONFIRM)
    first, second = (worker.probe(model, None, Stage.CONFIRM) for _ in range(2))
    with cores_taken(bursts=False, cores=_half_the_cores()):
        late = worker.probe(model, None, Stage.CONFIRM)
    return Repetition(
        quiet=interval_of(quiet),
        disturbed=interval_of(disturbed),
        naive=_naive(first, second),
        naive_disturbed=_naive(first, late),
        slowdown=_last_over_first(disturbed.baseline_step_ms),
    )


def _half_the_cores() -> int:
    return max(1, int((read_host().usable_cores or 2) // 2))


def _naive(baseline: Probe, candidate: Probe) -> float:
    return median(baseline.block_step_ms) / median(candidate.block_step_ms)


def _last_over_first(step_ms: tuple[float, ...]) -> float:
    third = len(step_ms) // 3
    return median(step_ms[-third:]) / median(step_ms[:third])


@contextmanager
def _cores_taken_after(wait_s: float) -> Iterator[None]:
    """Cores are taken once this time has passed, until the context ends."""
    with ExitStack() as taken:
        lock = threading.Lock()
        over = False

        def take() -> None:
            with lock:
                if not over:
                    taken.enter_context(cores_taken(bursts=False, cores=_half_the_cores()))

        timer = threading.Timer(wait_s, take)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with lock:
                over = True


def shift(before: list[float], after: list[float]) -> Interval:
    """The factor by which a ratio moves, over all repetitions; 1 for not at all."""
    return timing.pooled_speedup([moved / still for still, moved in zip(before, after, strict=True)])
