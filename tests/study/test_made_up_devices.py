"""How near the search comes to the best on devices that nobody has: step times by what bounds them, not by factors.

A step takes what the host or the device takes, whichever is longer, and a little of the other. Host and device, what 16
bit, XLA and aligned widths do to either, how large a batch fills the device and from which on it slows down are drawn
for each device. So settings interact: 16 bit gains nothing while the host is the bound, steps per call nothing once the
device is. The proposer is asked as a study asks it, and measures with an error of 3 %.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from autotune.config.search import Sampler, SearchConfig
from autotune.study.propose import Proposer
from autotune.trial import Candidate, Xla
from tests.study.fake_executor import BF16, F32, WIDTHS
from tests.study.test_propose import BASELINE, WIDE, space_of

SIZES = (32, 64, 128, 256, 512)
SPACE = space_of(
    policies=(BF16, F32), batch_sizes=SIZES, examples=8192, longest_batch_for_more=None, widths=(WIDTHS, WIDE)
)
TRIALS, AGAIN = 10, 4
DEVICES = int(os.environ.get("MADE_UP_DEVICES", "25"))


def device(chance: random.Random) -> Callable[[Candidate], float]:
    """The speedup of a candidate over the baseline."""
    host_ms, busy_ms = 10 ** chance.uniform(-0.5, 1), 10 ** chance.uniform(-1.5, 1.5)
    low, cast = chance.choice([0.4, 0.8, 1.2, 1.8, 2.5, 3.5]), chance.uniform(0, 0.25) * min(host_ms, busy_ms)
    host_xla, busy_xla, low_xla = chance.uniform(0.5, 1.1), chance.uniform(0.6, 1.1), chance.uniform(0.85, 1.15)
    filled, slows, aligned = 2 ** chance.uniform(4, 9), chance.choice([math.inf, 512, 256]), chance.uniform(0.95, 1.4)
    per_call = chance.uniform(0.2, 0.9)

    def step_ms(one: Candidate) -> float:
        xla, low_bits = one.xla is Xla.ON, not one.policy.is_float32
        host = host_ms * (host_xla if xla else 1) * (1 - per_call + per_call / one.steps_per_execution)
        busy = busy_ms * (one.batch_size + filled) / (32 + filled)
        if low_bits:
            busy *= (low_xla if xla else 1) / low / (aligned if one.widths == WIDE else 1)
            busy += cast * math.sqrt(one.batch_size / 32)
        busy *= (busy_xla if xla else 1) * (1.6 if one.batch_size > slows else 1)
        return max(host, busy) + 0.15 * min(host, busy)

    return lambda one: step_ms(BASELINE) / step_ms(one) * one.batch_size / 32


def found(seed: int, safe: int, sampler: Sampler, trials: int = TRIALS) -> tuple[float, int]:
    """The search's answer over the best there is, where larger batches than `safe` are refused; and its trials."""
    chance = random.Random(seed)
    speedup = device(chance)
    search = SearchConfig(trials=trials, batch_sizes=list(SIZES), seed=seed, sampler=sampler)
    proposer, seen = Proposer(SPACE, search, ends=sampler is Sampler.auto), {BASELINE: 1.0}

    def measured(candidate: Candidate | None) -> bool:
        if candidate is None:
            return False
        seen[candidate] = speedup(candidate) * math.exp(chance.gauss(0, 0.03))
        proposer.tell(candidate, seen[candidate])
        return True

    while len(seen) <= trials and measured(proposer.ask()):
        pass
    refused = max(SIZES) + 1
    while (answer := max((one for one in seen if one.batch_size < refused), key=seen.__getitem__)).batch_size > safe:
        refused = answer.batch_size
        for _ in range(AGAIN):
            if not measured(proposer.ask_below(refused)):
                break
    best = max(speedup(one) for one in SPACE.candidates() if one.batch_size <= safe)
    return max(1.0, speedup(answer)) / max(1.0, best), len(seen) - 1


@pytest.mark.parametrize(("safe", "near"), [(512, 0.6), (256, 0.75), (128, 0.75), (64, 0.75)])
def test_a_few_trials_come_near_to_the_best_of_what_keeps_its_accuracy(safe, near):
    """Within 3 %, of 79 candidates; Optuna's TPE, asked for by name, has as many trials as this took."""
    ours = [found(seed, safe, Sampler.auto) for seed in range(DEVICES)]
    others = [found(seed, safe, Sampler.tpe, trials) for seed, (_, trials) in enumerate(ours)]
    share, of_tpe = (sum(ratio > 0.97 for ratio, _ in answers) / DEVICES for answers in (ours, others))
    trials = sum(trials for _, trials in ours) / DEVICES
    print(
        f"up to batch {safe}: within 3 % on {share:.0%} of {DEVICES} devices in {trials:.1f} trials, TPE {of_tpe:.0%}"
    )
    assert share >= near
    assert share > of_tpe


def test_every_candidate_is_among_them():
    assert len(list(SPACE.candidates())) == 79
    assert replace(BASELINE, batch_size=512, policy=BF16, widths=WIDE, xla=Xla.ON) in set(SPACE.candidates())
