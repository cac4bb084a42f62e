from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autotune.trial import Failure, FailureKind, Policy, Xla
from tests.benchmarks.search import lines, made_up
from tests.benchmarks.search.landscape import Landscape, Timing, Training
from tests.benchmarks.search.made_up import BASELINE

BF16 = Policy("mixed_bfloat16")


def small() -> Landscape:
    """Two candidates beside the baseline; one twice as fast per step at twice the batch, one less accurate."""
    made = Landscape(made_up.landscape().head)
    good, bad = replace(BASELINE, xla=Xla.OFF, batch_size=64), replace(BASELINE, xla=Xla.OFF, batch_size=128)
    made.effects[BASELINE] = made_up.landscape().effects[BASELINE]
    made.take(Timing(BASELINE, 0, 1, 0.0, (20.0, 20.0)))
    made.take(Timing(good, 0, 1, 0.0, (10.0, 20.0, 40.0), (20.0, 20.0, 20.0)))
    made.take(Timing(good, 1, 2, 0.0, (20.0, 25.0), (20.0, 20.0)))
    made.take(Timing(bad, 0, 1, 0.0, (20.0, 20.0), (20.0, 20.0)))
    for seed, (base, near, far) in enumerate([(0.5, 0.496, 0.48), (0.6, 0.592, 0.58)]):
        for candidate, metric in ((BASELINE, base), (good, near), (bad, far)):
            made.take(Training(candidate, seed, 1, 0.0, (metric,), (1.0,), (2.0,), 3.0))
    return made


def test_the_truth_is_pooled_over_all_processes_and_seeds() -> None:
    made = small()
    good, bad = made.candidates

    assert made.speedup(good) == pytest.approx(2.0)  # the centre of 2, 1, 0.5, 1 and 0.8 at twice the batch
    assert made.loss(good) == pytest.approx(0.006)
    assert made.loss(bad) == pytest.approx(0.02)
    assert made.speedup(bad) > made.speedup(good)
    assert made.best == good


def test_what_may_be_the_best_is_named_until_it_is_told_apart() -> None:
    noisy, quiet = made_up.landscape(noise=0.1), made_up.landscape(noise=0.001)
    near = noisy.contenders(within=0.05, half_width=0.015)

    assert noisy.best in near
    assert set(near) < set(noisy.feasible), "the slow ones are known well enough"
    assert all(noisy.loss(one) <= noisy.head.margin for one in near)
    assert quiet.contenders(within=0.05, half_width=0.015) == []
    assert noisy.interval(noisy.baseline) is None


def test_one_whose_training_failed_is_never_the_best() -> None:
    made = small()
    good = made.candidates[0]
    made.take(Training(good, 1, 1, 0.0, failure=Failure(FailureKind.NAN, "made up")))

    assert made.loss(good) == float("inf")
    assert made.best == BASELINE


def test_candidates_that_differ_in_steps_alone_share_their_trainings() -> None:
    made = made_up.landscape()
    own = replace(BASELINE, xla=Xla.OFF, steps_per_execution=8)

    assert made.trained(replace(own, batch_size=64)) == replace(own, batch_size=64, steps_per_execution=1)
    assert made.trained(own) == BASELINE  # Keras leaves XLA off where there is no accelerator
    assert made.trained(replace(own, xla=Xla.ON)) == replace(own, xla=Xla.ON, steps_per_execution=1)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    made = made_up.landscape()
    found = lines.read(lines.write(made, tmp_path / "made_up.jsonl"))

    assert found.head == made.head
    assert found.candidates == made.candidates
    assert found.effects == made.effects
    assert found.trainings[BASELINE][3].metric == pytest.approx(made.trainings[BASELINE][3].metric, rel=1e-4)
    assert found.speedup(found.best) == pytest.approx(made.speedup(made.best), rel=1e-4)


def test_a_line_that_a_kill_cut_is_left_out(tmp_path: Path) -> None:
    path = lines.write(made_up.landscape(), tmp_path / "made_up.jsonl")
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[:-20], encoding="utf-8")

    assert len(list(lines.read(path))) == whole.count("\n") - 2  # the head and the one that was cut


def test_another_format_is_refused(tmp_path: Path) -> None:
    made = made_up.landscape()
    made.head = replace(made.head, format=99)
    path = lines.write(made, tmp_path / "made_up.jsonl")

    with pytest.raises(ValueError, match="format 99"):
        lines.read(path)


@pytest.mark.parametrize("path", lines.recorded(), ids=lambda path: path.stem)
def test_a_recorded_landscape_is_whole_and_names_no_path(path: Path) -> None:
    found = lines.read(path)

    assert len(found.seeds) >= 3
    assert all(found.trained(candidate) in found.trainings for candidate in found.candidates)
    assert all(found.trained(candidate) in found.effects for candidate in found.candidates)
    assert found.head.data.stand_in is None
    assert str(Path.home()) not in path.read_text(encoding="utf-8")
    assert path.stat().st_size < 400_000
