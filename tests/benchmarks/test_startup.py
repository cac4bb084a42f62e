"""How long a person waits for `--help`, `--cfg job` and the answer to a typo, with `import tensorflow` beside them.

It shows what it is worth that the parent imports no framework: none of the three may cost as much as importing one. The
bare interpreter is the floor. Each command is a process of its own, from start to exit, and all of them take turns,
forwards and then backwards; a first turn fills the file cache and is not counted. "of TensorFlow" is the time over
that of `import tensorflow` in the same turn, with its interval.

`--help` takes longer than `--cfg job`: to list the choices, Hydra copies its sources anew for each of some 90 listings.

Alone (one minute on two cores): `python -m pytest tests/benchmarks/test_startup.py -m bench -s`

Measured on 2026-11-29 on AMD EPYC, 2 cores (virtual, shared with other work: load average 2.2; the quieter of two
runs, and none was quiet), Python 3.11.7, tensorflow 2.21.0, hydra-core 1.3.8, 8 runs. Quote the ratios only.

    command                        median [ms]    min    max        of TensorFlow [95 %]
    python -c "pass"                        22     22     27  0.00514 [0.00504, 0.00534]
    autotune --help                        745    726    825        0.171 [0.164, 0.177]
    autotune --cfg job                     304    289    326     0.0696 [0.0644, 0.0725]
    autotune search.batchsize=64           407    386    423      0.093 [0.0866, 0.0965]
    python -c "import tensorflow"        4,356  4,132  5,233                    1 [1, 1]
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

from autotune.decide import timing
from tests.benchmarks.figures import cpu, print_table, with_bounds

pytestmark = pytest.mark.bench

TURNS = 8
TENSORFLOW = 'python -c "import tensorflow"'

# What is shown: the interpreter's arguments, and the exit status that is right.
COMMANDS: dict[str, tuple[tuple[str, ...], int]] = {
    'python -c "pass"': (("-c", "pass"), 0),
    "autotune --help": (("-m", "autotune", "--help"), 0),
    "autotune --cfg job": (("-m", "autotune", "--cfg", "job"), 0),
    "autotune search.batchsize=64": (("-m", "autotune", "search.batchsize=64"), 2),
    TENSORFLOW: (("-c", "import tensorflow"), 0),
}


def test_answers_come_before_a_framework_could_be_imported(tmp_path: Path) -> None:
    wall_ms = _in_turn(tmp_path)
    rows, slower = [], []
    for command, times_ms in wall_ms.items():
        share = timing.speedup(timing.log_ratios(times_ms, wall_ms[TENSORFLOW], 1, 1))
        spread = [f"{figure(times_ms):,.0f}" for figure in (median, min, max)]
        rows.append((command, *spread, with_bounds(share), str(len(times_ms))))
        if command != TENSORFLOW and share.high >= 1:
            slower.append(command)
    head = ("command", "median [ms]", "min", "max", "of TensorFlow [95 %]", "runs")
    print_table("Start-up: wall clock of a whole process", head, rows, cpu())
    assert slower == []


def _in_turn(cwd: Path) -> dict[str, list[float]]:
    """Wall clock of every run of every command [ms]."""
    for command in COMMANDS:
        _wall_ms(command, cwd)
    wall_ms: dict[str, list[float]] = {command: [] for command in COMMANDS}
    for turn in range(TURNS):
        for command in COMMANDS if turn % 2 == 0 else reversed(COMMANDS):
            wall_ms[command].append(_wall_ms(command, cwd))
    return wall_ms


def _wall_ms(command: str, cwd: Path) -> float:
    arguments, expected = COMMANDS[command]
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], check=False, cwd=cwd, capture_output=True, text=True, timeout=60
    )
    elapsed_ms = (time.perf_counter() - began) * 1e3
    assert done.returncode == expected, done.stderr
    return elapsed_ms
