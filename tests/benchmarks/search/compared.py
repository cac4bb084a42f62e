"""All searches on one landscape, seed by seed, and the table of what they cost."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from tests.benchmarks.search import lines as files
from tests.benchmarks.search import rivals
from tests.benchmarks.search.studies import Outcome, World

OURS, TPE, UNTIMED, PLANNED = "this tuner", "tpe", "tpe, timed for nothing", "tpe, as long for all"

RELIABLE = 0.95
"""Share of seeds in which a sweep whose length is fixed beforehand shall come within 3 % of the best."""

# A sweep's length: few sit through more, and each trial of TPE's own takes it longer.
_MOST_OF_TPE = 40


@dataclass(frozen=True, slots=True)
class Result:
    """Every search on one seed: by name."""

    seed: int
    outcomes: dict[str, Outcome]
    floor: Outcome


def results(path: Path, seeds: Sequence[int], overrides: tuple[str, ...] = ()) -> list[Result]:
    """Run everything on a landscape, on all cores.

    Args:
        path: of the landscape.
        seeds: one study of each kind a seed.
        overrides: of this tuner's configuration, and so of what the rivals share with it.
    """
    workers = os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()
    shares = [seeds[first :: workers or 1] for first in range(workers or 1)]
    work = partial(_share, path, overrides)
    with ProcessPoolExecutor(len(shares), multiprocessing.get_context("spawn")) as pool:
        found = [result for share in pool.map(work, shares) for result in share]
    return sorted(found, key=lambda result: result.seed)


def _share(path: Path, overrides: tuple[str, ...], seeds: Sequence[int]) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        world = World(files.read(path), Path(folder), overrides)
        return [one_seed(world, seed) for seed in seeds]


def one_seed(world: World, seed: int) -> Result:
    """This tuner and all rivals, served with the same draws."""
    outcomes = {OURS: world.study(seed)[0]}
    for name, proposing in rivals.RIVALS.items():
        most = _MOST_OF_TPE if name == TPE else len(world.landscape.candidates)
        outcome, timed_s = rivals.finish(rivals.search(world, seed, proposing, most), world)
        outcomes[name] = outcome
        if name == TPE:
            outcomes[UNTIMED] = replace(outcome, cost_s=outcome.cost_s - timed_s)
    return Result(seed, outcomes, rivals.floor(world, seed))


def planned_trials(found: Sequence[Result], share: float = RELIABLE) -> int:
    """The fewest trials of TPE after which so many of the seeds are within 3 % of the best; else all there are.

    No person can stop a sweep at the moment of its luck: its length is decided before it begins. One who knew this
    landscape, but not what is drawn, would take this many.
    """
    courses = [result.outcomes[TPE].course for result in found]
    for number in range(_MOST_OF_TPE):
        if sum(course[number].near for course in courses) >= share * len(found):
            return number + 1
    return _MOST_OF_TPE


def with_planned(found: Sequence[Result]) -> list[Result]:
    """The same, and plain TPE with a length that is fixed beforehand for all seeds."""
    trials, made = planned_trials(found), []
    for result in found:
        stopped = result.outcomes[TPE]
        end = stopped.course[trials - 1]
        cost_s, trainings = end.at_s + stopped.confirming_s, end.trainings + stopped.confirming
        planned = replace(stopped, cost_s=cost_s, trainings=trainings)
        made.append(replace(result, outcomes={**result.outcomes, PLANNED: planned}))
    return made


@dataclass(frozen=True, slots=True)
class Row:
    """One search over all seeds.

    Attributes:
        ratio, ratio_90: cost over that of plain TPE on the same seed, median and 90th percentile.
        planned, planned_90: the same over TPE of a length that is fixed beforehand.
        near: share of seeds whose confirmed answer is within 3 % of the best.
        slower: share whose answer is slower than the baseline.
        worse: share whose answer loses more than the margin, by the landscape's own means.
        cost_s: median [s].
        trainings: median number of them, the baseline's among them.
    """

    name: str
    ratio: float
    ratio_90: float
    planned: float
    planned_90: float
    near: float
    slower: float
    worse: float
    cost_s: float
    trainings: float


def rows(world: World, found: Sequence[Result]) -> list[Row]:
    """One for each search, and the floor."""
    found = with_planned(found)
    made = [_row(world, name, [result.outcomes[name] for result in found], found) for name in found[0].outcomes]
    return [*made, _row(world, "floor: no search", [result.floor for result in found], found)]


def _row(world: World, name: str, outcomes: Sequence[Outcome], found: Sequence[Result]) -> Row:
    landscape, n = world.landscape, len(found)
    answers = [outcome.winner for outcome in outcomes]
    others = [answer for answer in answers if answer != landscape.baseline]
    return Row(
        name,
        *_ratios(outcomes, found, TPE),
        *_ratios(outcomes, found, PLANNED),
        sum(world.is_near(answer) for answer in answers) / n,
        sum(landscape.speedup(answer) < 1 for answer in others) / n,
        sum(landscape.loss(answer) > landscape.head.margin for answer in others) / n,
        median(outcome.cost_s for outcome in outcomes),
        median(outcome.trainings for outcome in outcomes),
    )


def _ratios(outcomes: Sequence[Outcome], found: Sequence[Result], against: str) -> tuple[float, float]:
    """Cost over that of another search on the same seed: median and 90th percentile."""
    pairs = zip(outcomes, found, strict=True)
    ratios = sorted(outcome.cost_s / result.outcomes[against].cost_s for outcome, result in pairs)
    return median(ratios), ratios[min(len(ratios) - 1, int(0.9 * len(ratios)))]


def time_shares(found: Sequence[Result]) -> tuple[dict[str, float], dict[str, float]]:
    """What this tuner's time goes to on average, as shares: by stage, and by kind of request."""
    stages: dict[str, float] = defaultdict(float)
    kinds: dict[str, float] = defaultdict(float)
    for result in found:
        ours = result.outcomes[OURS]
        for shares, spent_s in ((stages, ours.stages_s), (kinds, ours.spent_s)):
            for name, part_s in spent_s.items():
                shares[name] += part_s / ours.cost_s / len(found)
    return stages, kinds
