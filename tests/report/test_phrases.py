from __future__ import annotations

import pytest

from autotune.report import phrases
from autotune.trial import Candidate, Policy, Xla
from tests.sample_study import CANDIDATES


def test_text_from_elsewhere_cannot_move_the_cursor_or_start_a_line():
    assert phrases.one_line("a\nb\x1b[2Jc\r\n  d\u202e") == "a b [2Jc d"


@pytest.mark.parametrize(("seconds", "text"), [(-1.0, "0:00"), (59.9, "0:59"), (221.0, "3:41"), (3723.0, "1:02:03")])
def test_clock(seconds: float, text: str):
    assert phrases.clock(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.1234, "0.123"), (2.1, "2.10"), (21.44, "21.4"), (214.4, "214")]
)
def test_milliseconds_have_three_digits(value: float | None, text: str):
    assert phrases.milliseconds(value) == text


def test_differences_name_the_old_value_and_leave_out_what_is_alike():
    own = CANDIDATES[0]
    other = Candidate(Policy("mixed_bfloat16"), 256, Xla.AUTO, own.widths, 1)
    assert phrases.differences(other, own) == ["policy mixed_bfloat16 (was float32)", "batch 256 (was 32)"]


def test_the_command_survives_a_folder_with_a_space():
    command = phrases.train_command("/my runs/export")
    assert command == "python -m autotune --config-dir '/my runs/export' --config-name best"
