"""A landscape that was never measured, in which the truth is known: for tests that must not depend on a machine."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

from autotune.trial import Candidate, DatasetFacts, Policy, Xla
from tests.benchmarks.search.landscape import FORMAT, Head, Landscape, Start, Timing, Training
from tests.study.fake_executor import effect_of
from tests.study.fake_machine import zen4

OVERRIDES = (
    "model=cifar_mlp",
    "hw=auto",
    "search.policies=[float32,mixed_bfloat16]",
    "train.examples=1024",
    "train.epochs=6",
    "model.width_bounds=[]",
)
BASELINE = Candidate(Policy("float32"), 32, Xla.AUTO, (3000, 1000))
TURNS, SEEDS, PAIRS, EPOCHS = 2, 6, 10, 6

# By how much accuracy falls with the batch: 64 is as good as 32, 128 is not.
LOSS = {32: 0.0, 64: 0.001, 128: 0.03, 256: 0.08}
_STEP_MS = 20.0


def speedup(candidate: Candidate) -> float:
    """The truth: large batches, bfloat16 and many steps a call help, XLA does not."""
    if candidate == BASELINE:
        return 1.0
    factor: float = (candidate.batch_size / 32) ** 0.7 * (0.9 if candidate.xla is Xla.ON else 1.0)
    return factor * (1.0 if candidate.policy.is_float32 else 1.1) * (1.1 if candidate.steps_per_execution > 1 else 1.0)


def landscape(noise: float = 0.03, seed: int = 0) -> Landscape:
    """Every candidate timed in two processes, and trained on six seeds.

    Args:
        noise: spread of the log of one block's step time.
        seed: of the noise.
    """
    chance = random.Random(seed)
    data = DatasetFacts("cifar10", 45000, 5000, 10000, (32, 32, 3), 10, "nowhere", "f1")
    head = Head(FORMAT, "cifar_mlp", OVERRIDES, "2026-01-01", zen4().host, "CPU", {}, data, 1024, EPOCHS, EPOCHS, 0.01)
    made = Landscape(head)
    for process in range(1, TURNS + 1):
        made.take(Start(process, 8.0 + process, 0.0))
    for candidate in _candidates():
        for turn in range(TURNS):
            made.take(_timing(candidate, turn, noise, chance))
        if candidate.steps_per_execution == 1:
            made.effects[candidate] = effect_of(candidate)
            for training in _trainings(candidate, chance):
                made.take(training)
    return made


def _candidates() -> list[Candidate]:
    found = [
        Candidate(Policy(policy), batch, xla, BASELINE.widths, steps)
        for policy, batch, xla, steps in itertools.product(
            ("float32", "mixed_bfloat16"), LOSS, (Xla.OFF, Xla.ON), (1, 8)
        )
        if 1024 // batch % steps == 0
    ]
    return [BASELINE, *(one for one in found if one != replace(BASELINE, xla=Xla.OFF))]


def _timing(candidate: Candidate, turn: int, noise: float, chance: random.Random) -> Timing:
    def blocks(step_ms: float) -> tuple[float, ...]:
        return tuple(step_ms * chance.lognormvariate(0, noise) for _ in range(PAIRS))

    own = blocks(_STEP_MS * candidate.batch_size / 32 / speedup(candidate))
    other = () if candidate == BASELINE else blocks(_STEP_MS)
    first_s = 3.0 if candidate.xla is Xla.ON else 1.0
    return Timing(candidate, turn, turn + 1, 0.0, own, other, 5, 5, 0.3, first_s, own[:3], None, 6.0)


def _trainings(candidate: Candidate, chance: random.Random) -> list[Training]:
    train_s = 1024 * EPOCHS / 32 * _STEP_MS / 1e3 / speedup(candidate)
    made = []
    for seed in range(SEEDS):
        metric = 0.35 + random.Random(seed).gauss(0, 0.004)
        if candidate != BASELINE:
            metric += chance.gauss(0, 0.001) - LOSS[candidate.batch_size]
        metrics = tuple(metric - 0.02 * (EPOCHS - epoch) for epoch in range(1, EPOCHS + 1))
        elapsed = tuple(train_s * epoch / EPOCHS for epoch in range(1, EPOCHS + 1))
        made.append(Training(candidate, seed, 1, 0.0, metrics, (2.0,) * EPOCHS, elapsed, train_s + 3.0))
    return made
