"""How near the search comes to the best on devices that nobody has: step times by what bounds them, not by factors.

A step takes what the host or the device takes, whichever is longer, and a little of the other. Host and device, what 16
bit, and XLA do to either, how large a batch fills the device and from which on it slows down are drawn
for each device. So settings interact: 16 bit gains nothing while the host is the bound, steps per call nothing once the
device is. Whole studies search them, with blocks that are off by 3 %, and all batches above one lose accuracy.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autotune.config.search import Sampler
from autotune.trial import Candidate, Xla
from tests.study.fake_executor import BF16, F32, WIDTHS, Factors, FakeStudy, Request, World, config_of

SIZES = (32, 64, 128, 256, 512)
EXAMPLES = 8192
BASELINE = Candidate(F32, 32, Xla.OFF, WIDTHS)
CANDIDATES = [
    Candidate(policy, batch, xla, WIDTHS, steps)
    for policy, batch, xla, steps in itertools.product((F32, BF16), SIZES, (Xla.OFF, Xla.ON), (1, 8))
]
TRIALS = 10
DEVICES = int(os.environ.get("MADE_UP_DEVICES", "8"))


def device(chance: random.Random) -> Callable[[Candidate], float]:
    """The speedup of a candidate over the baseline."""
    host_ms, busy_ms = 10 ** chance.uniform(-0.5, 1), 10 ** chance.uniform(-1.5, 1.5)
    low, cast = chance.choice([0.4, 0.8, 1.2, 1.8, 2.5, 3.5]), chance.uniform(0, 0.25) * min(host_ms, busy_ms)
    host_xla, busy_xla, low_xla = chance.uniform(0.5, 1.1), chance.uniform(0.6, 1.1), chance.uniform(0.85, 1.15)
    filled, slows = 2 ** chance.uniform(4, 9), chance.choice([math.inf, 512, 256])
    per_call = chance.uniform(0.2, 0.9)

    def step_ms(one: Candidate) -> float:
        xla, low_bits = one.xla is Xla.ON, not one.policy.is_float32
        host = host_ms * (host_xla if xla else 1) * (1 - per_call + per_call / one.steps_per_execution)
        busy = busy_ms * (one.batch_size + filled) / (32 + filled)
        if low_bits:
            busy *= (low_xla if xla else 1) / low
            busy += cast * math.sqrt(one.batch_size / 32)
        busy *= (busy_xla if xla else 1) * (1.6 if one.batch_size > slows else 1)
        return max(host, busy) + 0.15 * min(host, busy)

    return lambda one: step_ms(BASELINE) / step_ms(one) * one.batch_size / 32


def noisy(request: Request, worker: int) -> Factors:
    """Blocks that are off by 3 %, the same whenever the same is asked of the same worker."""
    noise = random.Random(f"{request.candidate} {request.stage} {worker}")
    own, other = ([noise.lognormvariate(0, 0.03) for _ in range(12)] for _ in range(2))
    return own, other


def answered(folder: Path, seed: int, safe: int, **search: Any) -> tuple[float, int]:
    """A study's answer over the best there is, where larger batches than `safe` lose accuracy; and its trials."""
    speedup = device(random.Random(seed))
    world = World(
        speed=lambda one: 1.0 if one.xla is Xla.AUTO else speedup(one),
        loss=lambda one: 0.05 if one.batch_size > safe else 0.0,
        factors=noisy,
    )
    config = config_of(**({"max_batch_factor": 16, "trials": TRIALS} | search))
    config.train.examples = EXAMPLES
    study = FakeStudy(folder, config, world).run()
    winner = study.view.winner.candidate
    best = max(speedup(one) for one in CANDIDATES if one.batch_size <= safe)
    return (1.0 if winner.xla is Xla.AUTO else speedup(winner)) / best, len(study.screened())


@pytest.mark.parametrize(("safe", "near"), [(512, 0.6), (256, 0.6), (128, 0.6), (64, 0.6)])
def test_a_few_trials_come_near_to_the_best_of_what_keeps_its_accuracy(tmp_path, safe, near):
    """Within 3 %; with Optuna's TPE, asked for by name, a study has as many trials as this took."""
    ours = [answered(tmp_path / f"{seed}", seed, safe) for seed in range(DEVICES)]
    others = [
        answered(tmp_path / f"{seed}-tpe", seed, safe, sampler=Sampler.tpe, trials=trials)
        for seed, (_, trials) in enumerate(ours)
    ]
    share, of_tpe = (sum(ratio > 0.97 for ratio, _ in answers) / DEVICES for answers in (ours, others))
    trials = sum(trials for _, trials in ours) / DEVICES
    told = f"within 3 % on {share:.0%} of {DEVICES} devices in {trials:.1f} trials, TPE on {of_tpe:.0%}"
    print(f"batch {safe} keeps its accuracy: {told}")
    assert share >= near
    assert share > of_tpe


def test_every_candidate_is_among_them(tmp_path):
    config = config_of(max_batch_factor=16)
    config.train.examples = EXAMPLES
    space = FakeStudy(tmp_path, config).plan().view.space.space
    assert space.size == len(CANDIDATES) - 1, "less the baseline itself"
