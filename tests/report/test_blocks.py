from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.record.view import StudyView
from autotune.report import blocks
from autotune.report.blocks import Blocks
from autotune.trial import Failure, FailureKind, Stage
from tests.sample_study import WINNER, sample_events
from tests.sample_values import probe


@pytest.fixture
def view() -> StudyView:
    return StudyView.of(sample_events())


def test_the_blocks_shown_are_those_of_the_speed_shown(view: StudyView):
    assert blocks.shown(view.trials[WINNER]) == blocks.confirmation(view.trials[WINNER])
    assert blocks.shown(view.trials[2]) == blocks.screening(view.trials[2])
    assert blocks.shown(view.trials[6]) == Blocks()


def test_a_confirmation_without_a_speed_shows_none_of_its_blocks(view: StudyView):
    winner = view.trials[WINNER]
    assert winner.confirmation is not None
    winner.confirmation = replace(winner.confirmation, speedup=None, failure=Failure(FailureKind.OOM, "no memory"))
    assert blocks.shown(winner) == blocks.screening(winner)


def test_pairs_and_what_disturbed_are_over_all_processes(view: StudyView):
    timed = blocks.confirmation(view.trials[WINNER])
    assert (len(timed.probes), timed.pairs, len(timed.suspicious)) == (3, 36, 2)
    assert len(timed.conditions) == 72


def test_a_block_is_as_long_as_its_steps():
    timed = Blocks((probe(4),))
    assert max(timed.lengths_ms) == pytest.approx(2.75 * 1.02 * 48)
    assert min(timed.lengths_ms) == pytest.approx(2.10 * 0.98 * 48)
    assert timed.sync_share == pytest.approx(0.06 / min(timed.lengths_ms))


def test_what_was_not_measured_is_unknown():
    unknown = Blocks((replace(probe(4), sync_ms=None, peak_memory_mb=None),))
    assert (unknown.sync_ms, unknown.sync_share, unknown.peak_memory_mb) == (None, None, None)
    empty = Blocks()
    assert (empty.pairs, empty.build_s, empty.compile_s, empty.sync_share, empty.rounds_apart) == (0,) + (None,) * 3 + (
        0,
    )


def test_the_pipelines_share_is_the_middle_processes(view: StudyView):
    share = blocks.pipeline_share(view.trials[WINNER])
    assert share is not None
    assert share.estimate == pytest.approx(0.22, abs=0.01)
    assert blocks.pipeline_share(view.trials[2]) is None, "screening does not measure it"


def test_the_winner_leads_the_confirmed_trials(view: StudyView):
    view.trials[3].confirming = [replace(view.trials[5].confirming[0], trial=3, stage=Stage.CONFIRM)]
    assert [trial.number for trial in blocks.confirmed_trials(view)] == [4, 3, 5]
