from __future__ import annotations

import re
from collections.abc import Iterable

from autotune.console import console_sink
from autotune.record.events import Event, Note, SinkFailed, TrialFailed
from autotune.trial import Failure, FailureKind, Stage
from tests.console.screen import Terminal
from tests.sample_study import CANDIDATES, sample_events


def show(
    events: Iterable[Event], stream: Terminal | None = None, hint: str = "make ui", step_s: float = 1.0
) -> list[str]:
    stream = stream or Terminal(is_terminal=False)
    ticks = iter(range(10_000))
    sink = console_sink(stream=stream, tracking_hint=hint, clock=lambda: next(ticks) * step_s)
    for event in events:
        sink.on_event(event)
    sink.close()
    return stream.text.splitlines()


def test_no_control_characters_even_from_a_failure_with_colours():
    failure = Failure(FailureKind.CRASH, "\x1b[31mred\x1b[0m\nsecond line\x07")
    lines = show([*sample_events(), TrialFailed(9, Stage.SCREEN, CANDIDATES[1], failure)])
    assert not [line for line in lines if re.search(r"[\x00-\x1f\x7f\x1b]", line)]
    assert any("red" in line and "second line" in line for line in lines)


def test_every_line_before_the_answer_starts_with_the_time_since_the_start():
    lines = show(sample_events(), step_s=60.0)
    log = lines[: lines.index("")]
    assert all(re.match(r"\[ *\d+:\d\d(:\d\d)?\]  \S", line) for line in log)
    assert log[0].startswith("[   0:00]  study")
    assert log[-1].startswith("[1:")


def test_a_probe_has_its_figures_with_units():
    (line,) = [line for line in show(sample_events()) if "screen     #4" in line]
    assert "2.75 ms/step" in line
    assert "93,091 examples/s" in line
    assert "6.11x [5.98, 6.24] FASTER" in line


def test_figures_of_the_screening_stand_under_one_another():
    lines = [line for line in show(sample_events()) if "ms/step" in line and "  screen" in line]
    assert len(lines) == 7
    assert len({line.index("ms/step") for line in lines}) == 1
    assert len({line.index("examples/s") for line in lines}) == 1


def test_a_disturbed_probe_says_so_and_that_nothing_was_dropped():
    lines = [line for line in show(sample_events()) if "disturbed" in line]
    assert [line.split("#")[1][0] for line in lines] == ["5", "4"]
    assert all("screen" in line or "confirm" in line for line in lines)
    assert lines[0].endswith("FASTER  (3 of 12 pairs disturbed, counted all the same)")


def test_finalists_that_were_compared_have_a_line_and_a_row_of_the_answer():
    text = "trial 4 against trial 5 in one process: 1.18x [1.16, 1.20] FASTER: trial 4 goes first, it is faster"
    lines = [line for line in show(sample_events()) if text in line]
    assert len(lines) == 2
    assert "confirm    #4" in lines[0]
    assert lines[1].startswith("compared")


def test_another_objective_leads_in_each_line():
    lines = show(sample_events(objective="energy"))
    (screened,) = [line for line in lines if "screen     #4" in line]
    assert screened.endswith("energy 4.15x [4.07, 4.24], speed 6.11x [5.98, 6.24] FASTER")
    (confirmed,) = [line for line in lines if "confirm    #4" in line and "fresh" in line]
    assert "energy BETTER 4.04x [3.94, 4.14]; speed FASTER 5.94x [5.80, 6.09] over 3 fresh processes" in confirmed
    assert any(line.startswith("Use trial 4: 4.04 times as many examples per joule") for line in lines)


def test_trainings_failures_and_judgements_are_lines():
    text = "\n".join(show(sample_events()))
    assert "seed 1    accuracy 43.66 %  difference -0.20 pp" in text
    assert "(2 of 45 steps skipped by the loss scaler)" in text
    assert "FAILED compile: XLA could not compile" in text
    assert "dominated: slower than trial 5" in text


def test_the_answer_ends_the_output_with_the_command_and_the_hint_on_one_line_each():
    lines = show(sample_events())
    tail = lines[lines.index("") :]
    assert tail[1].startswith("Use trial 4")
    command = "python -m autotune --config-dir /studies/cifar_mlp-rtx3090/export --config-name best"
    assert [line for line in tail if line.endswith(command)]
    assert [line for line in tail if line.endswith("make ui")]
    assert tail[-1].startswith("exit status")


def test_warnings_are_loud_and_come_again_in_the_answer():
    lines = show([*sample_events(on_target=False, stand_in=True), SinkFailed("mlflow", "database is locked")])
    answer = lines[lines.index("") :]
    assert sum("WARNING" in line for line in lines[: lines.index("")]) == 3
    assert sum(line.startswith("WARNING: ") for line in answer) == 3
    assert "WARNING: mlflow did not take everything: database is locked" in answer


def test_a_study_without_a_decision_ends_without_an_answer():
    assert "" not in show(sample_events()[:20])


def test_an_encoding_without_the_characters_of_a_name_does_not_stop_the_study():
    lines = show([*sample_events(), Note("odd", "größe 漢字", "warning")], Terminal("ascii", is_terminal=False))
    assert any("gr??e ??" in line for line in lines)
