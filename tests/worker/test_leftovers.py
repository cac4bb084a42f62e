"""Nothing is left of a worker, whatever it started and whoever was killed: no process and no temporary file."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from autotune.errors import TrialFault
from autotune.trial import FailureKind
from autotune.worker.guard import MARK
from tests.worker.faulty import FaultyWorker, others
from tests.worker.processes import gone, soon

Start = Callable[..., FaultyWorker]


@pytest.mark.parametrize("operation", ["leave_others", "hold_interpreter"])
def test_what_left_the_group_is_ended_too(faulty: Start, operation: str) -> None:
    worker = faulty()
    worker.fault_of(operation, 3.0)
    assert len(others()) == 3
    assert all(gone(pid) for pid in others())
    worker.assert_gone()


def test_what_left_the_group_ends_with_a_worker_that_ends_by_itself(faulty: Start) -> None:
    worker = faulty()
    worker.does("start_others")
    worker.close()
    assert all(gone(pid) for pid in others())
    worker.assert_gone()


def test_a_guard_that_somebody_has_killed_is_done_without(faulty: Start) -> None:
    worker = faulty()
    worker.does("start_others")
    os.kill(worker._guard._popen.pid, signal.SIGKILL)
    worker.kill()
    assert all(gone(pid) for pid in others())
    worker.assert_gone()


PARENT = """
    import os, sys, threading, time
    from pathlib import Path
    from autotune.worker.process import WorkerProcess
    from tests.worker import stubs

    worker = WorkerProcess({{}}, Path("log"), None, stubs.LAUNCH)
    print(worker.pid, worker.ask("environment", {{"name": "TMPDIR"}}, None), flush=True)
    threading.Thread(target=worker.ask, args=("{operation}", {{}}, None), daemon=True).start()
    time.sleep(600)
"""


@pytest.mark.parametrize("operation", ["hold_interpreter", "stop", "immune", "start_others"])
def test_nothing_is_left_of_a_worker_whose_parent_was_killed(faulty: Start, operation: str) -> None:
    script = textwrap.dedent(PARENT).format(operation=operation)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        try:
            assert parent.stdout is not None
            pid, scratch = parent.stdout.readline().split()
            if operation in ("hold_interpreter", "start_others"):
                assert soon(Path("others").exists)
            time.sleep(0.3)
            left = [int(pid), *(others() if Path("others").exists() else ())]
            assert all(psutil.pid_exists(one) for one in left)
        finally:
            parent.kill()
    assert all(gone(one) for one in left)
    assert soon(lambda: not Path(scratch).exists())
    assert soon(lambda: not guards_of(scratch))


def guards_of(scratch: str) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if scratch in process.cmdline():
                found.append(process.pid)
    return found


def test_a_worker_outlives_the_thread_that_started_it(faulty: Start) -> None:
    """Which the kernel's own signal at a parent's death does not allow."""
    made: list[FaultyWorker] = []
    thread = threading.Thread(target=lambda: made.append(faulty()))
    thread.start()
    thread.join()
    assert made[0].ask("echo", {"value": 1}, 60.0) == 1


def test_each_worker_has_a_mark_and_a_folder_of_its_own(faulty: Start) -> None:
    one, other = faulty(), faulty()
    assert one.does("environment", name=MARK) != other.does("environment", name=MARK)
    assert one.scratch != other.scratch
    written = Path(str(one.does("temporary")))
    assert written.parent == one.scratch
    one.close()
    one.assert_gone()
    assert other.scratch.is_dir()


def test_a_worker_that_cannot_be_started_is_told_and_leaves_no_folder(
    faulty: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(TrialFault, match=r"no worker can be started: .*absent") as caught:
        faulty()
    assert caught.value.kind is FailureKind.CRASH
    assert sorted(tmp_path.iterdir()) == before


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A real file system without room."""
    place = tmp_path / "full"
    place.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting needs root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    with contextlib.suppress(OSError):
        (place / "ballast").write_bytes(b"x" * 100_000)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_place_for_temporary_files_is_a_failure_of_what_needs_it_alone(
    faulty: Start, full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(full))
    worker = faulty()
    assert worker.scratch.parent == full
    fault = worker.fault_of("fill", size_mb=1)
    assert (fault.kind, fault.message) == (FailureKind.INVALID, "OSError: [Errno 28] No space left on device")
    assert worker.does("echo", value=1) == 1
    worker.kill()
    worker.assert_gone()
