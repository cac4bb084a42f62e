from __future__ import annotations

import threading

import pytest
from rich.console import Console

from autotune.console import console_sink
from autotune.console.live import LiveSink
from autotune.console.plain import PlainSink
from autotune.console.terminal import SafeStream, open_console
from autotune.record.events import Note, SinkFailed, TrialStarted
from autotune.trial import Stage
from tests.console.screen import Terminal
from tests.sample_study import sample_events


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def frame(sink: LiveSink, width: int = 140, height: int = 40) -> list[str]:
    """One frame as text, without its colours."""
    console = Console(file=SafeStream(Terminal()), width=width, height=height, color_system=None)  # type: ignore[arg-type]
    with console.capture() as captured:
        console.print(sink)
    return captured.get().splitlines()


def sink_at(count: int, now_s: float = 100.0, **variant: bool) -> LiveSink:
    """A sink that has taken some events, all at time zero, and is asked later; its own display never starts."""
    times = iter([0.0] * count)
    sink = LiveSink(open_console(Terminal()), "make ui", lambda: next(times, now_s))
    sink._live.start = lambda *_: None  # type: ignore[method-assign]  # frames are asked for by the test
    for event in sample_events(**variant)[:count]:
        sink.on_event(event)
    return sink


def during(stage: Stage, trial: int, seed: int | None) -> int:
    events = sample_events()
    return 1 + next(
        i
        for i, e in enumerate(events)
        if isinstance(e, TrialStarted) and (e.stage, e.trial, e.seed) == (stage, trial, seed)
    )


def test_a_frame_says_what_runs_how_far_and_how_long():
    lines = frame(sink_at(during(Stage.VERIFY, 4, 1), now_s=10.0))
    assert "[verify]" in lines[1]
    assert "trial 4, seed 1" in lines[1]
    # 80 s of verify, 3 of 14 done: 62.9 s; confirm 110 s and export 40 s follow.
    assert "3 of 14, 0:10 elapsed, about 3:32 left" in lines[2]
    (running,) = [line for line in lines if "running" in line]
    assert running.split()[:3] == ["4", "running", "mixed_bf16"]


def test_before_the_worker_is_ready_it_says_so():
    assert "starting the worker" in frame(sink_at(1))[1]


def test_warnings_stand_above_the_table_in_every_frame():
    lines = frame(sink_at(20, on_target=False, stand_in=True))
    assert "OFF TARGET" in lines[0]
    assert [line[:2] for line in lines[1:3]] == ["! ", "! "]


def test_a_short_terminal_keeps_the_baseline_the_running_and_the_fastest():
    lines = frame(sink_at(during(Stage.VERIFY, 4, 1)), height=15)
    numbers = [line.split()[0] for line in lines if line[:1].isdigit()]
    assert numbers[:4] == ["0", "3", "4", "5"]
    assert any("5 more trials not shown" in line for line in lines)
    assert len(lines) <= 15


def test_the_last_frame_has_every_trial_whatever_the_height():
    sink = sink_at(len(sample_events()))
    sink._closing = True
    lines = frame(sink, height=10)
    assert sum(line[:1].isdigit() and "failed," not in line for line in lines) == 9
    assert not any("elapsed" in line for line in lines)


def test_a_terminal_gets_a_table_and_the_answer_and_its_cursor_back():
    stream, before = Terminal(), set(threading.enumerate())
    sink = console_sink(stream=stream, tracking_hint="make ui")
    assert isinstance(sink, LiveSink)
    for event in sample_events():
        sink.on_event(event)
    sink.close()
    assert "\x1b[?25l" in stream.text
    assert stream.text.rindex("\x1b[?25h") > stream.text.rindex("\x1b[?25l")
    assert "--config-dir /studies/cifar_mlp-rtx3090/export --config-name best\n" in stream.text
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive(), "the display's thread outlives the study"


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch):
    def colours() -> bool:
        stream = Terminal()
        sink = console_sink(stream=stream)
        for event in sample_events():
            sink.on_event(event)
        sink.close()
        return "\x1b[1;32m" in stream.text

    assert colours()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colours()


def test_a_terminal_without_utf8_gets_ascii():
    stream = Terminal("ascii")
    sink = console_sink(stream=stream)
    for event in [*sample_events(), Note("odd", "größe", "warning"), SinkFailed("mlflow", "漢字")]:
        sink.on_event(event)
    sink.close()
    assert "-----" in stream.text
    assert stream.text.isascii()
    assert "?????" not in stream.text, "lines are drawn in characters that the terminal has"


@pytest.mark.parametrize(
    ("is_terminal", "term", "live"), [(False, "xterm", True), (True, "dumb", True), (True, "xterm", False)]
)
def test_what_cannot_redraw_or_must_not_gets_lines(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, term: str, live: bool
):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert isinstance(console_sink(stream=Terminal(is_terminal=is_terminal), live=live), PlainSink)
