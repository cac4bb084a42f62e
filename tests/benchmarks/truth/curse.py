"""The study itself, many times, in a world whose true speedups are known and whose noise was recorded."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from statistics import fmean, median, stdev

from autotune.record.events import BASELINE_TRIAL
from autotune.record.view import TrialView
from autotune.trial import Candidate, Probe, Stage, Xla
from tests.benchmarks.truth.miniature import Pairs, Process
from tests.study.fake_executor import Factors, FakeStudy, Request, World, config_of

_SPEEDUP = 1.3
_SPREAD = 0.01


def true_speedup(candidate: Candidate) -> float:
    """1.3, up to 1 % more or less by candidate: many that are nearly as fast, which is where a curse is strongest."""
    if candidate.xla is Xla.AUTO:  # the baseline
        return 1.0
    return _SPEEDUP * (1 + random.Random(str(candidate)).uniform(-_SPREAD, _SPREAD))


class Replay:
    """Block noise of one study: every worker of it is a recorded process, every probe one of its comparisons.

    Args:
        processes: recorded.
        seed: which are drawn.
    """

    def __init__(self, processes: Sequence[Process], seed: int) -> None:
        self._chance = random.Random(seed)
        self._processes = self._chance.sample(list(processes), len(processes))
        blocks = (step_ms for process in processes for pairs in process.comparisons for step_ms in pairs.baseline_ms)
        self._usual_ms = median(blocks)

    def __call__(self, request: Request, worker: int) -> Factors:
        """Step times of a recorded comparison over the usual step time of the whole recording."""
        process = self._processes[worker % len(self._processes)]
        screened = [pairs for screening in process.screenings for pairs in screening]
        pairs: Pairs = self._chance.choice(process.confirmations if request.stage is Stage.CONFIRM else screened)
        own, other = ([ms / self._usual_ms for ms in blocks] for blocks in (pairs.own_ms, pairs.baseline_ms))
        return own, other


@dataclass
class Curse:
    """Log of a speedup over the truth, one entry a study.

    Attributes:
        quoted: of the winner, as confirmed.
        screened: of the same winner, as screened.
        fastest: the largest screening figure over what is true of that candidate.
        naive: the largest ratio of single timings, of the baseline's first block and one block of each candidate.
        none: studies that confirmed nothing.
    """

    quoted: list[float] = field(default_factory=list)
    screened: list[float] = field(default_factory=list)
    fastest: list[float] = field(default_factory=list)
    naive: list[float] = field(default_factory=list)
    none: int = 0

    def add(self, study: FakeStudy) -> None:
        """What one study found."""
        view = study.view
        trials = [trial for trial in view.trials.values() if not trial.is_baseline and trial.probe is not None]
        baseline = view.trials[BASELINE_TRIAL].probe
        assert baseline is not None
        self.fastest.append(max(_screened(trial) for trial in trials))
        self.naive.append(max(_naive(baseline, trial) for trial in trials))
        winner = view.winner
        if winner is None or winner.confirmation is None or winner.confirmation.speedup is None:
            self.none += 1
            return
        self.quoted.append(log(winner.confirmation.speedup.estimate / true_speedup(winner.candidate)))
        self.screened.append(_screened(winner))


def _screened(trial: TrialView) -> float:
    assert trial.speedup is not None
    return log(trial.speedup.estimate / true_speedup(trial.candidate))


def _naive(baseline: Probe, trial: TrialView) -> float:
    assert trial.probe is not None
    per_example = [probe.block_step_ms[0] / probe.candidate.batch_size for probe in (baseline, trial.probe)]
    return log(per_example[0] / per_example[1] / true_speedup(trial.candidate))


def study(processes: Sequence[Process], folder: Path, studies: int) -> Curse:
    """Run whole studies, unchanged, and say how far their figures are from the truth."""
    curse = Curse()
    for seed, one in enumerate(_studies(processes, folder, studies)):
        curse.add(one.run())
        shutil.rmtree(folder / str(seed))
    return curse


def _studies(processes: Sequence[Process], folder: Path, studies: int) -> Iterator[FakeStudy]:
    for seed in range(studies):
        config = config_of(seed=seed)
        config.train.seed = 10_000 * seed
        world = World(speed=true_speedup, factors=Replay(processes, seed))
        yield FakeStudy(folder / str(seed), config, world)


def bias(logs: Sequence[float]) -> tuple[float, float]:
    """Mean figure over the truth less 1, and its standard error [per cent]."""
    mean = exp(fmean(logs))
    return 100 * (mean - 1), 100 * mean * stdev(logs) / len(logs) ** 0.5
