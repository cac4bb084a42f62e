"""What workers print: bounded, and their last words kept."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from autotune.worker import log
from tests.worker.faulty import FaultyWorker

Start = Callable[..., FaultyWorker]


def test_a_log_that_a_layer_floods_is_bounded_and_keeps_its_end(faulty: Start, tmp_path: Path) -> None:
    worker = faulty()
    assert worker.does("print_for_ever", until_mb=60) == "done"
    worker.close()
    assert (tmp_path / "log").stat().st_size <= log.MOST_BYTES
    assert log.last_words(tmp_path / "log").endswith("last words")
    text = (tmp_path / "log").read_bytes()
    assert b"bytes of output are left out here]" in text


def test_a_log_that_cannot_be_written_costs_no_measurement(tmp_path: Path) -> None:
    worker = FaultyWorker(tmp_path / "absent" / "log")
    try:
        assert worker.does("echo", value=1) == 1
        assert worker.fault_of("exit", status=0).detail == ""
    finally:
        worker.kill()


def test_a_crash_brings_the_workers_last_words(faulty: Start, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("of an earlier worker\n", encoding="utf-8")
    worker = faulty(PYTHONFAULTHANDLER="1")
    detail = worker.fault_of("die", number=int(signal.SIGABRT)).detail
    assert detail.startswith("Fatal Python error: Aborted")
    assert "earlier" not in detail


def test_a_short_log_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\ntwo\n", encoding="utf-8")
    log.trim(path)
    assert path.read_text(encoding="utf-8") == "one\ntwo\n"
    assert log.last_words(path, since_byte=4) == "two"
    assert log.last_words(path, since_byte=8) == ""
    assert log.last_words(path, since_byte=5000) == "one\ntwo"  # it was longer once


def test_no_log_has_no_words(tmp_path: Path) -> None:
    log.trim(tmp_path / "log")
    assert log.last_words(tmp_path / "log") == ""


def test_what_a_writer_adds_after_a_cut_follows_what_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("ab", buffering=0) as writer:
        for number in range(20):
            writer.write(b"%d " % number + b"x" * 1_000_000 + b"\n")
        log.trim(path)
        writer.write(b"the end\n")
    lines = path.read_bytes().splitlines()
    assert lines[0].endswith(b" bytes of output are left out here]")
    assert int(lines[0][1:].split()[0]) == sum(len(b"%d " % number) + 1_000_001 for number in range(16))
    assert [line.split()[0] for line in lines[1:]] == [b"16", b"17", b"18", b"19", b"the"]
