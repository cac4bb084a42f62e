"""What is claimed of timing, on blocks that a real machine recorded; `tests/benchmarks/truth` has it on live ones."""

from __future__ import annotations

from dataclasses import replace
from math import log
from pathlib import Path
from statistics import fmean

import pytest

from autotune.decide import timing
from autotune.trial import Candidate
from tests.benchmarks.truth import recorded
from tests.benchmarks.truth.counts import Count
from tests.benchmarks.truth.curse import Replay
from tests.benchmarks.truth.miniature import (
    CONFIRMING,
    SCREENED,
    THRESHOLD,
    Miniature,
    Pairs,
    Process,
    between_processes,
    interval_of,
    is_faster,
    once_each,
    resampled,
)
from tests.study.fake_executor import FakeStudy, World, config_of, usual_speed

STUDIES = 3000
LOWEST, HIGHEST = 0.93, 0.97

RECORDINGS = [
    pytest.param((path, loaded), id=f"{path.stem}-{'loaded' if loaded else 'quiet'}")
    for path in recorded.recordings()
    for loaded in (False, True)
]


@pytest.fixture(params=RECORDINGS)
def processes(request: pytest.FixtureRequest) -> tuple[Process, ...]:
    path, loaded = request.param
    return recorded.read(path).of(loaded=loaded)


def test_there_is_a_recording() -> None:
    assert RECORDINGS


def test_a_baseline_is_hardly_ever_confirmed_as_faster_than_itself(processes: tuple[Process, ...]) -> None:
    false = Count.over(study.says_faster for study in resampled(processes, STUDIES, seed=1))
    assert false.share <= 0.01, str(false)


def test_a_tuner_without_intervals_would_often_say_so(processes: tuple[Process, ...]) -> None:
    false = Count.over(study.fastest.estimate > THRESHOLD for study in resampled(processes, STUDIES, seed=1))
    assert false.share > 0.02, f"{false}: such quiet noise shows nothing of the rule that is tested"


@pytest.mark.parametrize("truth", [0.8, 1.0, 1.5])
def test_an_interval_of_one_process_covers_a_known_ratio(processes: tuple[Process, ...], truth: float) -> None:
    comparisons = [pairs for process in processes for pairs in process.comparisons]
    scaled = [replace(pairs, own_ms=tuple(ms / truth for ms in pairs.own_ms)) for pairs in comparisons]
    covered = Count.over(_covers(pairs, truth) for pairs in scaled)
    low, high = covered.bounds
    assert high >= LOWEST, str(covered)
    assert low <= HIGHEST, str(covered)


def _covers(pairs: Pairs, truth: float) -> bool:
    interval = timing.speedup(pairs.log_ratios)
    return interval.low <= truth <= interval.high


def test_the_interval_over_three_processes_covers_the_truth(processes: tuple[Process, ...]) -> None:
    # Studies overlap in a resampling, so their number says nothing of how exact the share is.
    intervals = [study.confirmed for study in resampled(processes, STUDIES, seed=2)]
    covered = Count.over(interval.low <= 1 <= interval.high for interval in intervals)
    assert LOWEST - 0.02 <= covered.share <= HIGHEST + 0.02, str(covered)


def test_the_confirmed_figure_is_unbiased_and_the_fastest_at_screening_is_not(processes: tuple[Process, ...]) -> None:
    studies = list(resampled(processes, STUDIES, seed=3))
    confirmed = fmean(log(study.confirmed.estimate) for study in studies)
    fastest = fmean(log(study.fastest.estimate) for study in studies)
    # No replay knows a bias better than the recorded processes know that the baseline is as fast as itself.
    standard_error = between_processes(processes)[1] / 100 / len(processes) ** 0.5
    assert abs(confirmed) - 2 * standard_error < 0.01
    assert fastest > confirmed + 0.005


def test_losing_a_core_halfway_does_not_move_a_ratio_of_pairs(processes: tuple[Process, ...]) -> None:
    slower = 1.6
    within, naive = [], []
    for pairs in (pairs for process in processes for pairs in process.comparisons):
        half = len(pairs.own_ms) // 2
        own, other = (
            tuple(ms * (slower if index >= half else 1) for index, ms in enumerate(blocks))
            for blocks in (pairs.own_ms, pairs.baseline_ms)
        )
        undisturbed = interval_of(pairs)
        within.append(undisturbed.low <= interval_of(Pairs(own, other)).estimate <= undisturbed.high)
        # One after the other: the baseline before the core is lost, the candidate after.
        naive.append(fmean(other[:half]) / fmean(own[half:]))
    assert all(within)
    assert fmean(naive) < 0.8


def fifteen_per_cent_apart(candidate: Candidate) -> float:
    """Steps per call make no difference, so the fastest candidate has an equal; the next has 1 / 1.15 of its speed."""
    return usual_speed(replace(candidate, steps_per_execution=1))


def test_studies_with_other_seeds_name_winners_that_are_as_fast(processes: tuple[Process, ...], tmp_path: Path) -> None:
    speedups = []
    for seed in range(10):
        config = config_of(seed=seed)
        config.train.seed = 10_000 * seed
        world = World(speed=fifteen_per_cent_apart, factors=Replay(processes, seed))
        winner = FakeStudy(tmp_path / str(seed), config, world).run().view.winner
        assert winner is not None
        speedups.append(fifteen_per_cent_apart(winner.candidate))
    assert sum(speedup >= 0.97 * max(speedups) for speedup in speedups) >= 9, str(speedups)


def made_up(processes: int, rows: int) -> list[Process]:
    """Every comparison is another one."""

    def pairs(process: int, number: int) -> Pairs:
        return Pairs(tuple(1.0 + process + number / 100 for _ in range(6)), (1.0,) * 6)

    return [
        Process(
            process % 2 == 1,
            tuple(tuple(pairs(process, SCREENED * row + n) for n in range(SCREENED)) for row in range(rows)),
            tuple(pairs(process, 50 + n) for n in range(CONFIRMING * rows)),
        )
        for process in range(processes)
    ]


def test_studies_use_every_measurement_once_and_confirm_in_other_processes() -> None:
    processes = made_up(processes=5, rows=2)
    studies = once_each(processes)
    assert len(studies) == 10
    used = [pairs for study in studies for pairs in study.screened + study.confirming]
    assert len(set(used)) == len(used) == sum(len(process.comparisons) for process in processes)
    home = {pairs: number for number, process in enumerate(processes) for pairs in process.comparisons}
    for study in studies:
        places = {home[pairs] for pairs in study.confirming} | {home[study.screened[0]]}
        assert len(places) == CONFIRMING + 1


def test_too_few_processes_are_refused() -> None:
    with pytest.raises(ValueError, match="3 processes are too few, 4 are the fewest"):
        once_each(made_up(processes=3, rows=1))


def test_a_miniature_study_is_judged_by_the_fastest_and_by_all_that_confirm() -> None:
    slow, fast = Pairs((2.0,) * 6, (2.0,) * 6), Pairs((2.0,) * 6, (2.2,) * 6)
    study = Miniature((slow, fast), (slow, fast, fast))
    assert study.fastest == interval_of(fast)
    assert study.fastest.estimate == pytest.approx(1.1)
    assert study.confirmed.estimate == pytest.approx(1.1 ** (2 / 3))
    assert is_faster(study.fastest)
    assert not study.confirmed_faster
    assert not study.says_faster
    assert Miniature((slow, fast), (fast,) * 3).says_faster
    assert not Miniature((slow, slow), (fast,) * 3).says_faster, "screening puts nothing above the threshold"


def test_what_is_written_is_read_with_four_digits(tmp_path: Path) -> None:
    [process, *_] = made_up(processes=1, rows=1)
    exact = replace(process, confirmations=(Pairs((1.23456789,) * 6, (12345.678,) * 6),) * CONFIRMING)
    noise = recorded.read(recorded.write([exact], "a setting", {"keras": "3"}, tmp_path))
    [found] = noise.of(loaded=False)
    assert found.screenings == process.screenings
    assert found.confirmations[0] == Pairs((1.235,) * 6, (12350.0,) * 6)
    assert (noise.setting, noise.versions, noise.of(loaded=True)) == ("a setting", {"keras": "3"}, ())


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = recorded.write([], "", {}, tmp_path)
    path.write_text(path.read_text().replace('"format": 1', '"format": 0'))
    with pytest.raises(ValueError, match="has format 0, but 1 is read"):
        recorded.read(path)


def test_the_interval_of_a_count_is_exact() -> None:
    # Where nothing was hit: (1 - high)**n = 2.5 %. Where all were: low**n = 2.5 %.
    assert list(Count(0, 200).bounds) == pytest.approx([0, 1 - 0.025 ** (1 / 200)])
    assert list(Count(20, 20).bounds) == pytest.approx([0.025 ** (1 / 20), 1])
    assert str(Count(3, 200)) == "1.5 % [0.3, 4.3]"
