from __future__ import annotations

from dataclasses import replace

from autotune.record.view import StudyView
from autotune.report.blocks import Blocks
from autotune.report.method import blocks_line, disturbed_line, how_measured
from autotune.trial import Suspicion
from tests.sample_study import sample_events
from tests.sample_values import probe


def test_a_confirmation_says_how_it_was_timed_what_disturbed_and_what_the_machine_did():
    text = "\n".join(how_measured(StudyView.of(sample_events())))
    assert "trial 4, timed again: 36 pairs of blocks in 3 fresh processes, baseline and candidate alive in one" in text
    assert (
        "blocks of 99 to 138 ms, of which reading the clock and waiting for the device take 0.06 ms (0.06 % at" in text
    )
    assert (
        "trial 4, GPU over its blocks: 1,710 to 1,740 MHz, 61 to 64 C, 212 to 321 W, held back by power_cap in 1 of"
        in text
    )
    assert "other processes used 2 % of it in the median block, 31 % at most, none was stolen" in text
    assert "screening: 84 pairs over 7 trials, 3 of them disturbed (trial 5); trial 3 timed apart" in text
    assert "the input pipeline takes 7 % [7, 8] of a float32 step: compute-bound" in text
    assert "of a step of trial 4: input-bound" in text


def test_what_disturbed_is_told_with_its_reasons_and_nothing_was_dropped():
    cpu = "other processes took {} % of the CPU"
    reasons = (cpu.format(31), f"{cpu.format(12)}; a", "b", f"c; {cpu.format(12)}", "a")
    timed = Blocks((probe(4),), tuple(Suspicion(pair, reason) for pair, reason in enumerate(reasons)))
    line = disturbed_line(timed)
    assert line.startswith(
        "5 of 12 pairs (other processes took 12 to 31 % of the CPU in 3; a in 2; b in 1; and 1 more)"
    )
    assert line.endswith("they count as all others do, none was dropped")
    assert disturbed_line(Blocks((probe(4),))) == "none of 12 pairs; none was dropped"


def test_a_machine_that_tells_nothing_is_not_called_quiet():
    blind = Blocks((replace(probe(4), conditions=(), baseline_conditions=()),))
    assert "as far as the times tell: nothing could be read of the machine" in disturbed_line(blind)


def test_a_block_too_short_for_its_clock_is_called_so():
    assert "(1.2 %" not in blocks_line(Blocks((probe(4),)))
    slow = blocks_line(Blocks((replace(probe(4), sync_ms=3.0),)))
    assert slow.endswith("take 3 ms (3 %, above the aim of 1 %)")
    assert blocks_line(Blocks((replace(probe(4), sync_ms=None),))).endswith("is not known")


def test_models_that_did_not_fit_together_are_said_to_have_been_timed_apart():
    assert "timed apart, in 3 rounds of alternating workers" in blocks_line(Blocks((probe(3),)))
    assert "alive in one worker" in blocks_line(Blocks((probe(4),)))


def test_nothing_is_told_before_anything_was_timed():
    assert how_measured(StudyView()) == []
    assert how_measured(StudyView.of(sample_events()[:5])) == []


def test_a_study_that_ended_early_tells_of_its_screening():
    lines = how_measured(StudyView.of(sample_events(interrupted=True)))
    assert lines[0].startswith("screening: 84 pairs")
    assert len(lines) == 2, "and of the baseline's pipeline"
