"""The baseline against itself, on real timings through the product's own worker."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean

from autotune.config.schema import Config
from autotune.trial import Candidate, Stage
from tests.benchmarks.truth.counts import Count
from tests.benchmarks.truth.load import cores_taken
from tests.benchmarks.truth.miniature import CONFIRMING, SCREENED, THRESHOLD, Miniature, Pairs, Process, is_faster
from tests.benchmarks.truth.recorded import pairs_of
from tests.benchmarks.truth.workers import Worker, fresh_worker, small

A_STUDY = "a study: screened, then confirmed"


def config() -> Config:
    """The product's own rules, on blocks of 10 ms and no more pairs than it wants at least: hundreds are affordable."""
    return small("search.timing.block_s=0.01", "search.timing.max_pairs=10")


def measure(
    config: Config, folder: Path, *, processes: int, rows: int, loaded: bool
) -> tuple[list[Process], dict[str, str]]:
    """Processes that follow one another, each with `rows` screenings and the confirmations of as many other studies.

    Every candidate is a newly built model. So is the baseline of every row; the comparisons of a row share it, as those
    of one screening do in the product, and no study meets the same one twice.

    Args:
        loaded: whether another process takes a core in random bursts meanwhile.

    Returns:
        The processes, and the versions of the packages that they loaded.
    """
    measured, versions = [], {}
    for number in range(processes):
        beside = cores_taken(bursts=True, seed=number) if loaded else nullcontext()
        with fresh_worker(config, folder) as worker, beside:
            measured.append(_compared(worker, rows, loaded))
            versions = worker.versions
    return measured, versions


def _compared(worker: Worker, rows: int, loaded: bool) -> Process:
    screenings: list[tuple[Pairs, ...]] = []
    confirmations: list[Pairs] = []
    for row in range(rows):
        model = worker.candidate(again=row)
        screenings.append(tuple(_against_itself(worker, model, Stage.SCREEN) for _ in range(SCREENED)))
        confirmations += [_against_itself(worker, model, Stage.CONFIRM) for _ in range(CONFIRMING)]
    return Process(loaded, tuple(screenings), tuple(confirmations))


def _against_itself(worker: Worker, model: Candidate, stage: Stage) -> Pairs:
    return pairs_of(worker.probe(model, model, stage))


def claims(studies: Sequence[Miniature], processes: Sequence[Process]) -> dict[str, Count]:
    """How often each way of judging calls a baseline faster than itself."""
    naive = _naive_ratios(processes)
    return {
        A_STUDY: Count.over(study.says_faster for study in studies),
        f"confirmation of whatever was fastest: t interval over {CONFIRMING} processes": Count.over(
            study.confirmed_faster for study in studies
        ),
        f"screening, the fastest of {SCREENED}: interval of one process": Count.over(
            is_faster(study.fastest) for study in studies
        ),
        f"screening, the fastest of {SCREENED}: its estimate alone": Count.over(
            study.fastest.estimate > THRESHOLD for study in studies
        ),
        f"naive: baseline first, all blocks each, the fastest of {SCREENED}": Count.over(
            max(blocks for blocks, _ in row) > THRESHOLD for row in naive
        ),
        f"naive: baseline first, one block each, the fastest of {SCREENED}": Count.over(
            max(block for _, block in row) > THRESHOLD for row in naive
        ),
    }


def _naive_ratios(processes: Sequence[Process]) -> list[list[tuple[float, float]]]:
    """Mean ratio of all blocks, and of one block, for every screening of every process.

    As most tuners do it: the baseline is timed once, when the process begins, and every candidate some time later.
    """
    rows = []
    for process in processes:
        baseline_ms = process.screenings[0][0].baseline_ms
        rows += [
            [(fmean(baseline_ms) / fmean(pairs.own_ms), baseline_ms[-1] / pairs.own_ms[0]) for pairs in screening]
            for screening in process.screenings
        ]
    return rows
