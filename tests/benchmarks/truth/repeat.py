"""Studies of one model with different seeds, and their winners timed in one run; both go on where they stopped."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autotune.config.schema import Config
from autotune.decide import timing
from autotune.record.lines import FILE_NAME, read
from autotune.record.view import StudyView
from autotune.tasks.tune import tune
from autotune.trial import Candidate, Interval, Stage
from tests.benchmarks.truth.coverage import interval_of
from tests.benchmarks.truth.workers import REPOSITORY, configured, fresh_worker

# The recipe is given: a plan from the budget would follow the machine's speed of the moment, and a verdict on another
# training is another question. For the same reason no budget ends a study early. None knows of another: they lie beside
# each other.
_USUAL = (
    "model=cifar_mlp",
    "train.examples=2048",
    "train.epochs=6",
    "search.budget=null",
    "search.warm_start=false",
    "tracking=off",
    "console.live=false",
    "data.download=false",
    "data.on_unavailable=error",
)

# The seeds of one study, those of its confirmation among them, are no other's.
_SEEDS_APART = 10_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one study named.

    Attributes:
        seed: that it was told.
        candidate: its winner, which is the baseline where it found none.
        quoted: the speedup that it quotes; None for the baseline.
    """

    seed: int
    candidate: Candidate
    quoted: Interval | None


def overrides() -> list[str]:
    """Hydra overrides of every study: ours, and what TRUTH_OVERRIDES appends."""
    return [*_USUAL, *shlex.split(os.environ.get("TRUTH_OVERRIDES", ""))]


def store() -> Path:
    """Where results are kept: TRUTH_STORE, or `outputs/truth`; a folder for each set of overrides."""
    root = Path(os.environ.get("TRUTH_STORE", REPOSITORY / "outputs" / "truth"))
    digest = hashlib.blake2b(json.dumps(overrides()).encode(), digest_size=4).hexdigest()
    return root / f"repeat-{digest}"


def config(number: int = 0, folder: Path | None = None, name: str | None = None) -> Config:
    """The configuration of one study."""
    seeds = (f"train.seed={_SEEDS_APART * number}", f"search.seed={number}")
    chosen = configured([*overrides(), *seeds])
    chosen.output.root, chosen.output.name = str(folder or store()), name
    return chosen


def outcome(number: int, folder: Path) -> Outcome:
    """The study of this number: read where it has run to its end already, else run."""
    for record in sorted(folder.glob(f"study-{number}-*/{FILE_NAME}")):
        if (found := _read(number, record)) is not None:
            return found
    attempt = 1 + len(list(folder.glob(f"study-{number}-*")))
    name = f"study-{number}-{attempt}"
    tune(config(number, folder, name))
    found = _read(number, folder / name / FILE_NAME)
    assert found is not None, f"study {number} did not end; see {folder / name}"
    return found


def _read(number: int, record: Path) -> Outcome | None:
    view = StudyView.of(read(record))
    if view.decided is None or view.decided.interrupted or view.winner is None:
        return None
    confirmation = view.winner.confirmation
    return Outcome(number, view.winner.candidate, confirmation.speedup if confirmation else None)


def timed_together(candidates: Sequence[Candidate], folder: Path, rounds: int) -> dict[Candidate, Interval]:
    """Speedup of each candidate over the baseline, from one run: each round is a fresh process that times all of them.

    Every candidate's blocks alternate with the baseline's. Rounds go through the candidates forwards, then backwards.
    """
    path = folder / "together.jsonl"
    asked = {str(candidate): candidate for candidate in candidates}
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = [speedups for speedups in done if speedups.keys() == asked.keys()]
    chosen = config()
    chosen.search.timing.pipeline = False
    for number in range(len(done), rounds):
        speedups = {}
        with fresh_worker(chosen, folder) as worker:
            for candidate in candidates if number % 2 == 0 else reversed(candidates):
                probe = worker.probe(candidate, worker.candidate(), Stage.CONFIRM)
                speedups[str(candidate)] = interval_of(probe).estimate
        with path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(speedups) + "\n")
        done.append(speedups)
    return {
        candidate: timing.pooled_speedup([speedups[name] for speedups in done]) for name, candidate in asked.items()
    }
