"""Where a study's wall clock went, read from its own record.

`python -m tests.benchmarks.accounting outputs/<run>` prints it for any record. What counts as what:

start-up        until the first line: worker, data, framework, MLflow and its store; and each fresh process that a
                probe or the export had to wait for, taken to start as the first one did (its `start_s`)
compile         `build_s` and `first_step_s` of each probe: building, tracing, XLA and one step; in a fresh process
                those of the baseline too, which its own probe tells
timed steps     blocks of candidate and baseline, warm-up blocks (taken to be as long; of the baseline one a probe,
                since it stood idle), and those of the pipeline; in a fresh process the baseline's first warm-up too
training        whole training requests: building, tracing, steps, evaluation, keeping the model
around steps    what is left of probe requests: a `fit` call's own start and end around each block, its lead-in, waits
                for an idle device, reading the machine's conditions
export          evaluation on the test part, SavedModel, the check in a fresh process, registration
failed          requests without a result
between         all else: proposing, judging, recording, ending workers

Overhead is the last four but "failed", over the wall clock without start-up. The report is written after the last line
and is not in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from autotune.record.events import (
    Exported,
    FinalistsCompared,
    Probed,
    StudyStarted,
    Trained,
    TrialFailed,
    WorkerReady,
)
from autotune.record.lines import FILE_NAME, Line, read_lines
from autotune.trial import Probe
from tests.benchmarks.figures import cpu, print_table

START_UP, COMPILE, TIMED, TRAINING = "start-up", "compile", "timed steps", "training"
AROUND, EXPORT, FAILED, BETWEEN = "around steps", "export", "failed", "between"
KINDS = (START_UP, COMPILE, TIMED, TRAINING, AROUND, EXPORT, FAILED, BETWEEN)
OVERHEAD = (AROUND, EXPORT, BETWEEN)


@dataclass
class Account:
    """A study's wall clock.

    Attributes:
        spent_s: by kind [s]; together `wall_s`.
        gaps: time between requests [s], with the line that ended it.
    """

    wall_s: float = 0.0
    spent_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))
    gaps: list[tuple[float, str]] = field(default_factory=list)

    @property
    def overhead(self) -> float:
        """Share of the wall clock after the start-up, 0 to 1."""
        return sum(self.spent_s[kind] for kind in OVERHEAD) / (self.wall_s - self.spent_s[START_UP])

    def rows(self) -> list[tuple[str, str, str]]:
        """Kind, share of the whole, seconds; then the longest times between requests."""
        found = [(kind, f"{self.spent_s[kind] / self.wall_s:.1%}", f"{self.spent_s[kind]:.1f}") for kind in KINDS]
        found.append(("OVERHEAD (of all but the start-up)", f"{self.overhead:.1%}", ""))
        longest = sorted(self.gaps, reverse=True)[:4]
        return [*found, *((f"  between, before {what}", "", f"{gap_s:.2f}") for gap_s, what in longest)]


def account(lines: Iterable[Line]) -> Account:
    """The account of a record of one session."""
    return _Reading().read(lines)


class _Reading:
    def __init__(self) -> None:
        self._found = Account()
        self._worker, self._start_s = 1, 0.0
        # What the baseline takes in a fresh process.
        self._baseline_compile_s, self._baseline_warm_up_s = 0.0, 0.0

    def read(self, lines: Iterable[Line]) -> Account:
        for line in lines:
            self._take(line, line.at_s - self._found.wall_s)
            self._found.wall_s = line.at_s
        return self._found

    def _take(self, line: Line, step_s: float) -> None:
        event, name = line.event, type(line.event).__name__
        match event:
            case StudyStarted():
                self._spend(START_UP, step_s)
                return
            case WorkerReady():
                self._start_s = self._start_s or event.start_s
            case Exported():
                self._spend(START_UP, min(self._start_s, step_s))
                self._spend(EXPORT, max(0.0, step_s - self._start_s))
                return
            case TrialFailed():
                self._spend(FAILED, step_s)
                return
            case Trained():
                self._spend(TRAINING, event.duration_s)
                step_s -= event.duration_s
            case Probed() | FinalistsCompared():
                self._probe(event.probe, event.duration_s)
                step_s -= event.duration_s
        self._spend(BETWEEN, step_s)
        self._found.gaps.append((step_s, name))

    def _probe(self, probe: Probe, duration_s: float) -> None:
        """Parts are taken in turn, none of more than is left."""
        fresh = probe.worker != self._worker
        self._worker = probe.worker
        compile_s = probe.build_s + probe.first_step_s
        if not probe.baseline_step_ms:
            self._baseline_compile_s = compile_s
            self._baseline_warm_up_s = len(probe.warmup_step_ms) * _block_s(probe)
        parts = (
            (START_UP, self._start_s if fresh else 0.0),
            (COMPILE, compile_s + (self._baseline_compile_s if fresh else 0.0)),
            (TIMED, _timed_s(probe) + (self._baseline_warm_up_s if fresh else 0.0)),
        )
        for kind, part_s in parts:
            self._spend(kind, min(part_s, duration_s))
            duration_s -= min(part_s, duration_s)
        self._spend(AROUND, duration_s)

    def _spend(self, kind: str, seconds: float) -> None:
        self._found.spent_s[kind] += seconds


def _timed_s(probe: Probe) -> float:
    """What was timed: all blocks of both models, the warm-up's and the pipeline's among them [s]."""
    blocks_ms = probe.baseline_step_ms
    other_ms = (sum(blocks_ms) + (mean(blocks_ms) if blocks_ms else 0.0)) * probe.baseline_steps_per_block
    pipeline = 2 * len(probe.pipeline.fed_step_ms) if probe.pipeline else 0
    own = len(probe.block_step_ms) + len(probe.warmup_step_ms) + pipeline
    return own * _block_s(probe) + other_ms / 1e3


def _block_s(probe: Probe) -> float:
    """Mean duration of one of the candidate's blocks [s]."""
    return mean(probe.block_step_ms) * probe.steps_per_block / 1e3


def print_account(title: str, found: Account) -> None:
    """The table, with what it was measured on."""
    print_table(title, ("wall clock", "share", "seconds"), found.rows(), cpu())


if __name__ == "__main__":
    print_account(sys.argv[1], account(read_lines(Path(sys.argv[1]) / FILE_NAME)))
