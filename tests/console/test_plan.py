from __future__ import annotations

from autotune.console import print_plan
from autotune.record.events import StageStarted
from autotune.record.view import StudyView
from autotune.trial import Stage
from tests.console.screen import Terminal
from tests.sample_study import sample_events


def lines(view: StudyView) -> list[str]:
    stream = Terminal(is_terminal=False)
    print_plan(view, stream)
    return stream.text.splitlines()


def planned(**variant: bool) -> StudyView:
    events = sample_events(**variant)
    end = next(i for i, e in enumerate(events) if isinstance(e, StageStarted) and e.stage is Stage.SCREEN)
    return StudyView.of(events[:end])


def test_the_plan_has_the_space_the_cost_and_what_can_be_resolved():
    text = "\n".join(" ".join(line.split()) for line in lines(planned()))
    assert "batch size [examples] 32, 64, 128, 256, 512" in text
    assert "candidates 120, of which at most 8 are measured" in text
    assert "pure float16 no loss scaling" in text
    assert "measured 2.10 ms/step, 15,238 examples/s" in text
    assert "verify 80 s" in text
    assert "all 360 s, of a budget of 360 s" in text
    assert "resolvable, spread 0.5 pp 0.87 pp (enough)" in text
    assert "resolvable, spread 0.8 pp 1.39 pp (not enough" in text


def test_a_plan_in_a_file_has_no_padding_and_no_control_characters():
    assert not [line for line in lines(planned()) if line != line.rstrip() or not line.isprintable()]


def test_a_relative_margin_has_no_size_before_the_baseline_was_trained():
    text = "\n".join(" ".join(line.split()) for line in lines(StudyView.of(sample_events(relative=True)[:6])))
    assert "margin asked for 2 % of float32's own\n" in text
    assert "resolvable, spread 0.5 pp 0.87 pp\n" in text


def test_a_plan_for_an_absent_target_says_so():
    assert "OFF TARGET" in lines(planned(on_target=False))[0]


def test_what_is_not_known_yet_is_left_out():
    assert lines(StudyView.of(sample_events()[:1])) == ["Plan for cifar_mlp on NVIDIA GeForce RTX 3090"]
