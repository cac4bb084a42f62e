from __future__ import annotations

import pytest

from autotune.record.events import Note
from autotune.record.view import StudyView
from autotune.report import phrases
from autotune.trial import Candidate, Policy, Xla
from tests.sample_study import CANDIDATES, sample_events


def test_text_from_elsewhere_cannot_move_the_cursor_or_start_a_line():
    assert phrases.one_line("a\nb\x1b[2Jc\r\n  d\u202e") == "a b [2Jc d"


@pytest.mark.parametrize(("seconds", "text"), [(-1.0, "0:00"), (59.9, "0:59"), (221.0, "3:41"), (3723.0, "1:02:03")])
def test_clock(seconds: float, text: str):
    assert phrases.clock(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.003437, "0.00344"), (0.1234, "0.123"), (2.1, "2.10"), (21.44, "21.4"), (214.4, "214")],
)
def test_a_quantity_has_three_digits(value: float | None, text: str):
    assert phrases.three_digits(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.0, "0 %"), (0.00058, "0.06 %"), (0.31, "31 %"), (1.0, "100 %")])
def test_a_small_share_is_not_rounded_to_nothing(value: float, text: str):
    assert phrases.share(value) == text


def test_a_range_whose_ends_look_alike_is_one_value():
    assert phrases.between([1740.0, 1695.0, 1710.0], "MHz") == "1,695 to 1,740 MHz"
    assert phrases.between([61.2, 61.4], "C") == "61 C"


def test_differences_name_the_old_value_and_leave_out_what_is_alike():
    own = CANDIDATES[0]
    other = Candidate(Policy("mixed_bfloat16"), 256, Xla.AUTO, own.widths, 1)
    assert phrases.differences(other, own) == ["policy mixed_bfloat16 (was float32)", "batch 256 (was 32)"]


def test_the_command_survives_a_folder_with_a_space():
    command = phrases.train_command("/my runs/export", {})
    assert command == "python -m autotune --config-dir '/my runs/export' --config-name best"


def test_the_command_asks_for_the_trust_that_it_needs():
    config = {
        "model": {"_target_": "my_net.build"},
        "data": {"_target_": "autotune.data.cifar10.load"},
        "train": {"callbacks": [{"_target_": "keras.callbacks.TerminateOnNaN"}, {"_target_": "my_net.Beep"}]},
    }
    assert phrases.train_command("e", config).endswith(" --config-name best --trust my_net.build --trust my_net.Beep")


def test_what_screening_showed_is_left_out_with_its_reason_too():
    view = StudyView.of(sample_events())
    planned = phrases.left_out(view)
    assert planned
    for topic in ("ruled_out", "unlikely", "batch"):
        view.apply(Note(topic, f"3 candidates: told of as {topic}"))
    assert phrases.left_out(view) == [
        *planned,
        "3 candidates: told of as ruled_out",
        "3 candidates: told of as unlikely",
    ]
