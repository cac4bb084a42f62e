"""`python rehearsal.py ...` is `python -m autotune ...` with workers that measure a made-up model in no time.

Everything else is the real thing: the command line, the study, its record, the pipes, processes and signals. So a whole
study with faults in it takes seconds, and every stage can meet every fault. `tests/faults/actor.py` is the worker.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

del sys.path[0]  # this folder, where a module's name may be a library's

from autotune.cli.command import main  # noqa: E402
from autotune.worker.executor import ENVIRONMENT, LocalExecutor  # noqa: E402
from autotune.worker.process import WorkerProcess  # noqa: E402

_GROUP = "AUTOTUNE_TEST_GROUP"  # `tests.faults.rehearsed.GROUP`, without an import from there

_CLOCK = "AUTOTUNE_TEST_CLOCK"  # `tests.faults.rehearsed.CLOCK`

# The arguments are those of `autotune.worker.launch`.
LAUNCH = (
    "import sys; sys.path.append(sys.argv[1])\n"
    "from autotune.trust import trusting\n"
    "from tests.faults import actor\n"
    "with trusting(sys.argv[4:]): actor.serve_actor(int(sys.argv[2]), int(sys.argv[3]))"
)


def _spawn(self: LocalExecutor) -> WorkerProcess:
    return WorkerProcess(ENVIRONMENT, self._log_path, self._memory_limit_mb, LAUNCH)


def _jumps() -> float:
    """Ten years back or forth from one look to the next."""
    true_s = time.time_ns() / 1e9
    return true_s + (3e8 if time.time_ns() // 1000 % 2 else -3e8)


if __name__ == "__main__":
    if _CLOCK in os.environ:
        time.time = _jumps
    if _GROUP in os.environ:
        Path(os.environ[_GROUP], "cgroup.procs").write_text("0", encoding="ascii")
    LocalExecutor._spawn = _spawn  # type: ignore[method-assign]
    sys.exit(main())
