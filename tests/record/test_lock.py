from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autotune.errors import ConfigError, UserError
from autotune.record.lock import FILE_NAME, SessionLock, alone, last_beat_s, was_killed

HOLD = """
import sys, time
from pathlib import Path
from autotune.record.lock import SessionLock
began = time.monotonic()
with SessionLock(Path(sys.argv[1]), lambda: 100 + time.monotonic() - began):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_study_that_runs_is_not_resumed_and_one_that_was_killed_is(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(ConfigError, match=rf"is running \(process {holder.pid}\)"):
                SessionLock(tmp_path, lambda: 0.0)
        finally:
            os.kill(holder.pid, signal.SIGKILL)
    assert last_beat_s(tmp_path) >= 100
    with SessionLock(tmp_path, lambda: 200.0):
        assert last_beat_s(tmp_path) == 200
    assert list(tmp_path.iterdir()) == []


def test_a_session_tells_how_long_the_study_has_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.record.lock._BEAT_S", 0.01)
    running_s = 5.0
    with SessionLock(tmp_path, lambda: running_s):
        assert last_beat_s(tmp_path) == 5
        running_s = 7.0
        deadline = time.monotonic() + 10
        while last_beat_s(tmp_path) < 7 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert last_beat_s(tmp_path) == 7


def test_a_folder_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()  # who is root may write everywhere else
    with pytest.raises(UserError, match=r"needs to write there, but cannot: Is a directory; mend that"):
        SessionLock(tmp_path, lambda: 0.0)


def test_who_only_keeps_sessions_out_leaves_what_a_killed_one_left(tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(ConfigError, match="is running"):
        SessionLock(tmp_path, lambda: 1.0)
    assert not was_killed(tmp_path)
    left = '{"pid": 1, "elapsed_s": 33.0}'
    (tmp_path / FILE_NAME).write_text(left)
    with alone(tmp_path):
        pass
    assert was_killed(tmp_path)
    assert last_beat_s(tmp_path) == 33


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"elapsed_s": "long"}', "\0"])
def test_a_folder_without_a_session_tells_nothing(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / FILE_NAME).write_text(content)
    assert last_beat_s(tmp_path) == 0
