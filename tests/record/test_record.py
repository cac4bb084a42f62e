from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from autotune.errors import UserError
from autotune.record.events import FORMAT, Event, Note, SinkFailed, StageStarted, StudyDecided, StudyStarted
from autotune.record.lines import decode, encode, read, read_lines
from autotune.record.record import Record, Sink
from autotune.record.view import StudyView
from autotune.trial import Stage
from tests.sample_study import sample_events

HELLO = Note("topic", "hello")

Open = Callable[..., Record]


@dataclass
class Listener:
    """A sink that remembers what it was told, in order; closing is `closed`."""

    name: str = "listener"
    told: list[Event | str] = field(default_factory=list)

    def on_event(self, event: Event) -> None:
        self.told.append(event)

    def on_replayed(self, event: Event, at_s: float) -> None:
        self.told.append(event)

    def close(self) -> None:
        self.told.append("closed")

    @property
    def names(self) -> list[str]:
        return [entry if isinstance(entry, str) else type(entry).__name__ for entry in self.told]


@dataclass
class Faulty(Listener):
    """A sink that raises from its n-th event on, counted from 1, and when it is closed if so asked."""

    fails_at: int | None = 1
    close_fails: bool = False

    def on_event(self, event: Event) -> None:
        super().on_event(event)
        if self.fails_at is not None and len(self.told) >= self.fails_at:
            raise RuntimeError(f"{self.name} is\nbroken")

    def close(self) -> None:
        super().close()
        if self.close_fails:
            raise OSError("cannot close")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "record.jsonl"


@pytest.fixture
def opened(path: Path) -> Iterator[Open]:
    """`opened(sink, sink)` is a record at `path` whose file is closed after the test, as the test left it."""
    with ExitStack() as stack:

        def made(*sinks: Sink) -> Record:
            record = Record(path, sinks)
            stack.callback(record._file.close)
            return record

        yield made


@pytest.mark.parametrize(
    "options", [{}, {"winner": False}, {"interrupted": True}, {"on_target": False}, {"inspected": True}]
)
def test_a_whole_study_comes_back_as_it_was_written(path: Path, opened: Open, options: dict[str, Any]) -> None:
    events = sample_events(**options)
    record = opened()
    for event in events:
        record.append(event)
    record.close()
    assert list(read(path)) == events
    assert record.view == StudyView.of(events)
    assert path.read_bytes().count(b"\n") == len(events)


def test_an_event_is_on_disk_and_in_the_view_before_a_sink_hears_of_it(
    path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        order.append(f"on disk: {len(path.read_text().splitlines())}")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)

    class Reader(Listener):
        def on_event(self, event: Event) -> None:
            assert list(read(path))[-1] == event
            assert record.view.notes[-1] == event
            order.append("told")

    record = opened(Reader())
    record.append(HELLO)
    record.append(Note("topic", "again"))
    assert order == ["on disk: 1", "told", "on disk: 2", "told"]


def test_sinks_are_told_in_their_order_and_closed(path: Path, opened: Open) -> None:
    shared: list[Event | str] = []
    record = opened(Listener("first", shared), Listener("second", shared))
    record.append(HELLO)
    record.close()
    assert shared == [HELLO, HELLO, "closed", "closed"]


def test_a_sink_that_raises_is_dropped_and_noted_and_the_others_go_on(
    path: Path, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = Listener("good"), Faulty("bad", fails_at=2)
    record = opened(good, bad)
    for text in ("one", "two", "three"):
        record.append(Note("topic", text))
    failed = SinkFailed("bad", "RuntimeError: bad is\nbroken")
    expected = [Note("topic", "one"), Note("topic", "two"), failed, Note("topic", "three")]
    assert list(read(path)) == expected
    assert good.told == expected
    assert bad.told == [*expected[:2], "closed"], "it may free what it holds, and is not asked again"
    assert "bad did not take everything: bad is broken" in caplog.text


def test_a_dropped_sink_is_closed_once(opened: Open) -> None:
    bad = Faulty("bad")
    record = opened(bad)
    record.append(HELLO)
    record.append(HELLO)
    record.close()
    assert bad.told == [HELLO, "closed"]


def test_a_dropped_sink_that_cannot_close_either_is_noted_once(path: Path, opened: Open) -> None:
    last = Listener("last")
    record = opened(Faulty("bad", close_fails=True), last)
    record.append(HELLO)
    record.close()
    expected = [HELLO, SinkFailed("bad", "RuntimeError: bad is\nbroken")]
    assert list(read(path)) == expected
    assert last.told == [*expected, "closed"]


def test_what_a_sink_raises_is_kept_short(path: Path, opened: Open) -> None:
    class Talkative(Listener):
        def on_event(self, event: Event) -> None:
            raise RuntimeError("x" * 100_000)

    record = opened(Talkative("talkative"))
    record.append(HELLO)
    failed = list(read(path))[1]
    assert isinstance(failed, SinkFailed)
    assert len(failed.message) == 2000


def test_ctrl_c_in_a_sink_is_a_persons_and_not_the_sinks(path: Path, opened: Open) -> None:
    class Interrupted(Listener):
        def on_event(self, event: Event) -> None:
            raise KeyboardInterrupt

    record = opened(Interrupted())
    with pytest.raises(KeyboardInterrupt):
        record.append(HELLO)
    assert list(read(path)) == [HELLO]


def test_two_sinks_that_raise_at_once_do_not_stop_the_study(path: Path, opened: Open) -> None:
    first, second, last = Faulty("first"), Faulty("second"), Listener("last")
    record = opened(first, second, last)
    record.append(HELLO)
    assert first.told == second.told == [HELLO, "closed"], "neither hears of the other's failure"
    failures = [SinkFailed(name, f"RuntimeError: {name} is\nbroken") for name in ("first", "second")]
    assert last.told == list(read(path)) == [HELLO, *failures]


def test_a_sink_that_fails_on_the_failure_of_another_is_dropped_too(path: Path, opened: Open) -> None:
    late = Faulty("late", fails_at=2)
    record = opened(late, Faulty("bad"))
    record.append(HELLO)
    bad, failed = list(read(path))[1:]
    assert late.told == [HELLO, bad, "closed"]
    assert (bad, failed) == tuple(SinkFailed(name, f"RuntimeError: {name} is\nbroken") for name in ("bad", "late"))


def test_every_sink_hears_the_events_in_the_order_of_the_record(path: Path, opened: Open) -> None:
    last = Listener("last")
    record = opened(Faulty("bad"), last)
    record.append(HELLO)
    assert last.told == list(read(path))


def test_a_closed_sink_is_told_nothing_more(path: Path, opened: Open) -> None:
    first = Listener("first")
    record = opened(first, Faulty("bad", fails_at=None, close_fails=True))
    record.append(HELLO)
    record.close()
    assert first.told[-1] == "closed"


def test_a_sink_that_cannot_close_is_noted_and_the_others_are_closed(path: Path, opened: Open) -> None:
    last = Listener("last")
    record = opened(Faulty("bad", fails_at=None, close_fails=True), last)
    record.append(HELLO)
    record.close()
    assert last.names[-1] == "closed"
    assert list(read(path))[-1] == SinkFailed("bad", "OSError: cannot close")


def test_a_number_that_json_does_not_have_leaves_no_half_line(path: Path, opened: Open) -> None:
    listener = Listener()
    record = opened(listener)
    with pytest.raises(ValueError, match="JSON"):
        record.append(StudyDecided(0, "nothing", None, float("nan")))
    assert listener.told == []
    record.append(HELLO)
    assert list(read(path)) == [HELLO]


def test_a_line_cut_by_a_crash_is_left_out(path: Path) -> None:
    whole = f"{encode(HELLO)}\n"
    last = encode(StageStarted(Stage.SCREEN, 8))
    for length in range(len(last) + 1):  # without its newline even a whole line may be the start of a longer one
        path.write_text(whole + last[:length])
        assert list(read(path)) == [HELLO]
    path.write_text(f"{whole}{last}\n")
    assert len(list(read(path))) == 2


def test_a_line_cut_inside_a_character_is_left_out_too(path: Path) -> None:
    cut = encode(Note("topic", "5.9 é")).encode()
    path.write_bytes(f"{encode(HELLO)}\n".encode() + cut[: cut.index("é".encode()) + 1])
    assert list(read(path)) == [HELLO]


def test_a_record_that_was_cut_can_be_appended_to(path: Path, opened: Open) -> None:
    path.write_text(f"{encode(HELLO)}\n{encode(HELLO)[:9]}")
    record = opened()
    record.append(Note("topic", "later"))
    record.close()
    assert list(read(path)) == [HELLO, Note("topic", "later")]


def missing_field(fields: dict[str, object]) -> None:
    del fields["planned"]


def unknown_field(fields: dict[str, object]) -> None:
    fields["surprise"] = 1


def unknown_event(fields: dict[str, object]) -> None:
    fields["event"] = "Celebrated"


def unknown_choice(fields: dict[str, object]) -> None:
    fields["stage"] = "celebration"


def no_number(fields: dict[str, object]) -> None:
    fields["planned"] = "many"


@pytest.mark.parametrize("damage", [missing_field, unknown_field, unknown_event, unknown_choice, no_number])
def test_a_damaged_line_is_refused_by_its_number(path: Path, damage: Callable[[dict[str, object]], None]) -> None:
    fields = json.loads(encode(StageStarted(Stage.SCREEN, 8)))
    damage(fields)
    path.write_text(f"{encode(HELLO)}\n{json.dumps(fields)}\n{encode(HELLO)}\n")
    lines = read_lines(path)
    assert next(lines).event == HELLO
    with pytest.raises(UserError, match="line 2: not a line of a study's record") as caught:
        next(lines)
    with pytest.raises(UserError, match="line 2"):
        list(read(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("line", ["", "not json", "{}", "[]", '["event"]', '{"event": null}', '{"event": []}', "\0\0"])
def test_a_line_of_something_else_is_refused(path: Path, line: str) -> None:
    path.write_text(f"{line}\n")
    with pytest.raises(UserError, match="line 1: not a line of a study's record"):
        list(read(path))


@pytest.mark.parametrize("line", ["null", "42", '"event"'])
def test_a_line_of_plain_json_is_refused(path: Path, line: str) -> None:
    path.write_text(f"{line}\n")
    with pytest.raises(UserError, match="line 1: not a line of a study's record"):
        list(read(path))


def started(**changes: object) -> str:
    return json.dumps(json.loads(encode(sample_events()[0])) | changes) + "\n"


def test_another_format_is_refused_by_its_number(path: Path) -> None:
    path.write_text(started(format=FORMAT + 1))
    with pytest.raises(UserError, match=f"has record format {FORMAT + 1}, but this version reads {FORMAT}"):
        list(read(path))


def test_another_format_is_named_even_where_its_fields_differ(path: Path) -> None:
    path.write_text(started(format=FORMAT + 1, hosts=["a", "b"]))
    with pytest.raises(UserError, match=f"record format {FORMAT + 1}"):
        list(read(path))


def test_a_record_that_is_not_there_is_a_persons_mistake(path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the record .*: No such file"):
        list(read(path))
    with pytest.raises(UserError, match="cannot read the record"):
        list(read(path.parent))


def test_a_record_is_never_overwritten(path: Path, opened: Open) -> None:
    for text in ("first", "second"):
        record = opened()
        record.append(Note("topic", text))
        record.close()
    assert [event.text for event in read(path) if isinstance(event, Note)] == ["first", "second"]


def test_encode_and_decode_are_inverse_and_one_line() -> None:
    note = Note("topic", "two\nlines, \r\n, \u2028, a tab\t, “quotes”, é, ü, 𝛿")
    line = encode(note)
    assert len(line.split("\n")) == 1
    assert "é, ü" in line, "readable as it is"
    assert decode(line) == note
    assert line.startswith('{"event":"Note",')


def test_the_first_line_says_what_wrote_it() -> None:
    fields = json.loads(encode(sample_events()[0]))
    assert (fields["event"], fields["format"]) == (StudyStarted.__name__, FORMAT)
