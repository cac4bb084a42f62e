"""A worker of a rehearsed study: the true session and loop, around a model whose speed and accuracy are made up.

Data are loaded for real. What a study measures depends on the candidate and the seed alone, so a study that met faults
can be compared with one that did not.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

from autotune import codec
from autotune.trial import Candidate, Effect, LayerEffect, Probe, TrainingRun, WorkerFacts, Xla
from autotune.worker.child.faults import kept_at
from autotune.worker.child.main import Session, serve
from autotune.worker.child.pulse import Pulse
from autotune.worker.protocol import EvaluateArgs, Evaluation, ExportArgs, InspectArgs, ProbeArgs, TrainArgs
from tests.explain.made import model
from tests.faults import planned
from tests.faults.kinds import Kinds

PAUSE = "AUTOTUNE_TEST_PAUSE_S"
"""Variable: how long each operation takes [s]."""

_BLOCKS = 8
_STEP_MS = 2.0
_CONFIRMING_SEEDS = 1000


def serve_actor(read_fd: int, write_fd: int) -> None:
    serve(read_fd, write_fd, Actor(write_fd))


class Actor(Session):
    """Stands where `Session` stands, and fails where it was planned."""

    def __init__(self, fd: int) -> None:
        super().__init__(Pulse(fd))
        self._kinds = Kinds(fd)

    def open(self, config: dict[str, Any]) -> Any:
        return self._meets("open") or super().open(config)

    def start(self) -> Any:
        facts = WorkerFacts(
            "CPU", (), 1, 1, None, None, {"tensorflow": "made up", "keras": "made up"}, {}, 0.1, os.getpid()
        )
        return self._meets("start") or facts

    def prepare(self) -> Any:
        return self._meets("prepare")

    def probe(self, args: dict[str, Any]) -> Any:
        asked = codec.restore(ProbeArgs, args)
        return self._meets(f"probe.{self._stage_of(asked)}", asked.candidate.batch_size) or _probe(asked)

    def train(self, args: dict[str, Any]) -> Any:
        asked = codec.restore(TrainArgs, args)
        confirms = asked.seed >= _CONFIRMING_SEEDS
        of_baseline = asked.candidate.xla is Xla.AUTO
        stage = "confirm" if confirms else "baseline" if of_baseline else "verify"
        batch = None if of_baseline else asked.candidate.batch_size
        return self._meets(f"train.{stage}", batch) or _train(asked)

    def inspect(self, args: dict[str, Any]) -> Any:
        codec.restore(InspectArgs, args)
        return self._meets("inspect") or model(16, (8, 4))

    def evaluate(self, args: dict[str, Any]) -> Any:
        codec.restore(EvaluateArgs, args)
        return self._meets("evaluate") or Evaluation(300, 0.8, 0.8, 1, 1)

    def export(self, args: dict[str, Any]) -> Any:
        asked = codec.restore(ExportArgs, args)
        Path(asked.saved_model_path).mkdir(exist_ok=True)  # as TensorFlow writes over what a first try has left
        Path(asked.saved_model_path, "saved_model.pb").touch()
        return self._meets("export")

    def reload(self, args: dict[str, Any]) -> Any:
        return self._meets("reload") or 0.0

    def _meets(self, place: str, batch: int | None = None) -> Any:
        time.sleep(float(os.environ.get(PAUSE, "0")))
        kind = planned.due(Path.cwd(), place, batch)
        return None if kind is None else getattr(self._kinds, kind)()

    def _stage_of(self, asked: ProbeArgs) -> str:
        if asked.candidate.xla is Xla.AUTO:
            return "baseline"
        config, _ = self._opened()
        return "screen" if asked.half_width == config.search.timing.screen_half_width else "confirm"


def _speed(candidate: Candidate) -> float:
    return 1.0 if candidate.xla is Xla.AUTO else 1.2 * (candidate.batch_size / 16) ** 0.5


def _probe(asked: ProbeArgs) -> Probe:
    def blocks(candidate: Candidate) -> tuple[float, ...]:
        noise = random.Random(str(candidate))
        true_ms = _STEP_MS * candidate.batch_size / 16 / _speed(candidate)
        return tuple(true_ms * noise.uniform(0.999, 1.001) for _ in range(_BLOCKS))

    return Probe(
        candidate=asked.candidate,
        effect=_effect(asked.candidate),
        block_step_ms=blocks(asked.candidate),
        baseline_step_ms=blocks(asked.reference) if asked.reference else (),
        steps_per_block=10,
        warmup_step_ms=(2 * _STEP_MS,),
        build_s=0.1,
        first_step_s=0.2,
        peak_memory_mb=100.0,
        loss=1.0,
        loss_finite=True,
        baseline_batch_size=asked.reference.batch_size if asked.reference else 0,
        baseline_steps_per_block=10 if asked.reference else 0,
    )


def _train(asked: TrainArgs) -> TrainingRun:
    if asked.keep_path is not None:
        path = Path(asked.keep_path)
        with kept_at(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{asked.candidate}, seed {asked.seed}", encoding="utf-8")
    noise = random.Random(f"{asked.candidate} {asked.seed}").gauss(0, 0.001)
    return TrainingRun(
        candidate=asked.candidate,
        seed=asked.seed,
        recipe=asked.recipe,
        metric=0.9 + noise,
        curve=(),
        iterations=asked.recipe.total_steps,
        skipped_steps=0,
        loss_scale=None,
        loss_finite=True,
        train_s=0.1,
        weights_digest=f"w{asked.seed}",
        effect=_effect(asked.candidate),
        model_path=asked.keep_path,
    )


def _effect(candidate: Candidate) -> Effect:
    """What it asks for, granted."""
    hidden = LayerEffect("hidden", "Dense", candidate.policy.compute_dtype, "float32", 2048, 4096, 64)
    last = LayerEffect("class", "Dense", "float32", "float32", 256, 512, 4)
    return Effect(candidate.xla is Xla.ON, (hidden, last), "float32", False, "Adam", None, False, "CPU")
