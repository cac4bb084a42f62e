"""The best of an earlier study comes first: an order that the record holds, and nothing that was measured there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.search import Sampler
from autotune.record import events as ev
from autotune.record.lines import FILE_NAME
from autotune.trial import Candidate, Stage, Xla
from tests.study.fake_executor import BF16, F16, F32, WIDTHS, FakeStudy, World, config_of

LAST_LEFT = Candidate(F32, 64, Xla.ON, WIDTHS, 1)
BEST = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)
EARLIER = ev.EarlierStudy("2026-01-01/10-00-00_net", (BEST, LAST_LEFT))


class Killed(BaseException):
    """Nothing in a study catches this, as nothing catches SIGKILL."""


def test_they_come_first_in_their_order_and_are_measured_anew(tmp_path):
    plain = FakeStudy(tmp_path / "plain", config_of(trials=8)).run()
    study = FakeStudy(tmp_path / "warm", config_of(trials=8), earlier=EARLIER).run()
    assert study.screened()[:2] == [BEST, LAST_LEFT]
    assert study.screened()[2:5] == plain.screened()[:3], "then what a person would try"
    assert len(study.screened()) <= 8
    assert [r.candidate for r in study.executor.requests if r.stage is Stage.SCREEN][:2] == [BEST, LAST_LEFT]
    [told] = study.notes("warm_start")
    assert told.startswith(f"the first candidates are the best of the study {EARLIER.study}, measured anew: {BEST}; ")


def test_a_batch_size_that_was_found_there_is_tried_here(tmp_path):
    found, listed = replace(BEST, batch_size=96, steps_per_execution=1), [32, 64, 128]
    earlier = replace(EARLIER, candidates=(found,))
    assert FakeStudy(tmp_path / "1", config_of(trials=3), earlier=earlier).run().screened()[0] == found
    study = FakeStudy(tmp_path / "2", config_of(trials=3, batch_sizes=listed), earlier=earlier).run()
    assert found not in study.screened(), "the user has listed others"


@pytest.mark.parametrize(
    "other",
    [
        replace(BEST, policy=F16),
        replace(BEST, widths=(128, 64)),
        replace(BEST, batch_size=256),
        replace(BEST, batch_size=16),
        replace(BEST, batch_size=104, steps_per_execution=1),  # leaves 72 of 2,048 examples out, 64 is the most
        replace(BEST, steps_per_execution=4),
        Candidate(F32, 32, Xla.OFF, WIDTHS),  # the baseline
    ],
)
def test_what_this_space_does_not_hold_is_not_tried(tmp_path, other):
    study = FakeStudy(tmp_path, config_of(trials=3), earlier=replace(EARLIER, candidates=(other,))).run()
    assert other not in study.screened()
    assert study.notes("warm_start") == []


@pytest.mark.parametrize("sampler", [Sampler.random, Sampler.grid])
def test_a_sampler_that_knows_nothing_is_not_told(tmp_path, sampler):
    told, alone = (
        FakeStudy(tmp_path / name, config_of(trials=5, sampler=sampler), earlier=earlier).run()
        for name, earlier in (("told", EARLIER), ("alone", None))
    )
    assert told.screened() == alone.screened()


def test_a_study_that_goes_on_keeps_to_what_it_was_told(tmp_path):
    """Meanwhile another study has become the latest."""
    config, later = (
        config_of(trials=8),
        replace(EARLIER, study="later", candidates=(Candidate(BF16, 64, Xla.ON, WIDTHS),)),
    )
    whole = FakeStudy(tmp_path / "whole", config, earlier=EARLIER).run()
    world = World(fault=lambda r: Killed() if r.candidate == LAST_LEFT else None)
    with pytest.raises(Killed):
        FakeStudy(tmp_path / "cut", config, world, earlier=EARLIER).run()
    resumed = FakeStudy(tmp_path / "cut", config, earlier=later).run()
    assert resumed.screened()[-8:] == whole.screened()
    assert resumed.view.earlier == EARLIER
    assert "later" not in (tmp_path / "cut" / FILE_NAME).read_text()
