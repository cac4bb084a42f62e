"""Workers that eat memory: stopped before the machine stops somebody, and told as what it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autotune.trial import FailureKind
from tests.control_groups import limited_group
from tests.worker.faulty import FaultyWorker

Start = Callable[..., FaultyWorker]


@pytest.mark.parametrize("operation", ["eat", "eat_in_a_fork"])
def test_a_fast_eater_is_stopped_soon_after_its_limit(faulty: Start, operation: str) -> None:
    """It would take 3 GB in 2 s or so."""
    worker = faulty(memory_limit_mb=300.0)
    fault = worker.fault_of(operation, most_mb=3000)
    assert fault.kind is FailureKind.OOM
    assert f"during {operation}, above the 300 MB that this machine can give it" in fault.message
    assert worker._watch.seen_mb < 900
    worker.assert_gone()


def test_pages_that_forks_share_count_once(faulty: Start) -> None:
    worker = faulty(memory_limit_mb=450.0)
    assert worker.does("share_with_forks", size_mb=200, forks=4, seconds=2.0) == "done"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_death_close_to_the_limit_is_a_lack_of_memory(faulty: Start, number: int) -> None:
    worker = faulty(memory_limit_mb=400.0)
    fault = worker.fault_of("eat", most_mb=345, then=int(number))
    assert fault.kind is FailureKind.OOM
    assert fault.message.startswith(f"the worker died of {signal.Signals(number).name} during eat: it had 3")
    assert "MB of the 400 MB that this machine can give it" in fault.message


def test_the_kernel_would_take_the_worker_first(faulty: Start) -> None:
    score = Path(f"/proc/{faulty().pid}/oom_score_adj")
    if not score.exists():
        pytest.skip("no /proc")
    assert int(score.read_text(encoding="ascii")) == 1000


PARENT = """
    from pathlib import Path
    from autotune.errors import TrialFault
    from tests.worker.faulty import FaultyWorker

    worker = FaultyWorker(Path("log"))
    try:
        worker.ask("{operation}", {{"most_mb": 1000}}, 4.0)
    except TrialFault as fault:
        print(fault.kind.value, fault.message)
"""


@pytest.fixture
def small_group() -> Iterator[Path]:
    """For a parent and its worker."""
    with limited_group(200_000_000) as folder:
        yield folder


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ("eat", "the worker died of SIGKILL during eat: the kernel's out-of-memory killer ended it"),
        (
            "eat_in_a_fork",
            "eat_in_a_fork ran past its time limit of 4 s, after the kernel's out-of-memory killer had ended a process"
            " here",
        ),
    ],
)
def test_the_kernels_own_killer_takes_the_worker_and_the_parent_tells_of_it(
    small_group: Path, tmp_path: Path, operation: str, said: str
) -> None:
    """A true one: the group has 200 MB for both, and nobody watches."""
    script = f"open({str(small_group / 'cgroup.procs')!r}, 'w').write('0')\n" + textwrap.dedent(PARENT)
    parent = subprocess.run(
        [sys.executable, "-c", script.format(operation=operation)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert parent.stdout == f"oom {said}\n"
