"""What is flagged, with thresholds crossed from both sides."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from autotune.decide.suspicion import overhead_share, suspicions
from autotune.trial import BlockConditions, Candidate, Effect, Policy, Probe, Suspicion, Xla

CALM = BlockConditions(0.02, 0.0, 3, 1500, 60, 200.0, (), 20.0)


def probe(own_ms: list[float], other_ms: list[float] | None = None, **fields: Any) -> Probe:
    candidate = Candidate(Policy("float32"), 32, Xla.OFF, (8,))
    effect = Effect(False, (), "float32", False, "SGD", None, False, "CPU")
    paired = tuple(other_ms or ())
    values = {"conditions": (CALM,) * len(own_ms), "baseline_conditions": (CALM,) * len(paired)} | fields
    return Probe(candidate, effect, tuple(own_ms), paired, 50, (), 0.1, 0.2, None, 1.0, True, **values)


def ten(**changed: Any) -> Probe:
    """Ten even pairs, of which pair 4's candidate block saw something else."""
    blocks = [CALM] * 10
    blocks[4] = replace(CALM, **changed)
    return probe([2.0] * 10, [4.0] * 10, conditions=tuple(blocks))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"foreign_cpu": 0.11}, "other processes took 11 % of the CPU"),
        ({"steal": 0.03}, "the hypervisor took 3 % of the CPU"),
        ({"quota_throttled": 0.03}, "the CPU quota held the worker back for 3 % of the time"),
        ({"throttled": ("power_cap", "hardware_thermal")}, "the GPU held its clock back (hardware_thermal, power_cap)"),
        ({"gpu_clock_mhz": 1410}, "the GPU ran at 1410 MHz instead of 1500"),
        ({"gpu_clock_mhz": 1590}, "the GPU ran at 1590 MHz instead of 1500"),
        (
            {"foreign_cpu": 0.5, "steal": 0.1},
            "other processes took 50 % of the CPU; the hypervisor took 10 % of the CPU",
        ),
    ],
)
def test_a_disturbed_pair_is_flagged_once_with_all_its_reasons(changed: dict[str, Any], reason: str) -> None:
    assert suspicions(ten(**changed)) == (Suspicion(4, reason),)


@pytest.mark.parametrize(
    "changed",
    [
        {"foreign_cpu": 0.1},
        {"steal": 0.02},
        {"quota_throttled": 0.02},
        {"gpu_clock_mhz": 1430},
        {"preemptions": 10_000, "gpu_temperature_c": 85, "gpu_power_w": 350.0, "energy_j": 1e6},
        dict.fromkeys(("foreign_cpu", "steal", "gpu_clock_mhz", "throttled"), None),
    ],
)
def test_what_is_usual_or_unknown_is_not(changed: dict[str, Any]) -> None:
    assert suspicions(ten(**changed)) == ()


def test_the_baselines_block_of_a_pair_counts_too_and_the_worse_of_both_is_told() -> None:
    blocks = tuple(replace(CALM, foreign_cpu=share) for share in (0.0, 0.4, 0.2))
    found = suspicions(replace(probe([1.0] * 3, [1.0] * 3), conditions=blocks[::-1], baseline_conditions=blocks))
    assert [(one.pair, one.reason[:25]) for one in found] == [
        (0, "other processes took 20 %"),
        (1, "other processes took 40 %"),
        (2, "other processes took 20 %"),
    ]


def test_a_candidate_that_runs_at_a_clock_of_its_own_is_not_disturbed() -> None:
    hot = (replace(CALM, gpu_clock_mhz=1200),) * 6
    assert suspicions(replace(probe([1.0] * 6, [1.0] * 6), conditions=hot)) == ()


def test_without_conditions_ratios_are_still_compared() -> None:
    own = [2.0, 2.01, 1.99, 2.0, 2.6, 2.0, 2.01, 1.99]
    assert suspicions(probe(own, [4.0] * 8, conditions=(), baseline_conditions=())) == (
        Suspicion(4, "it lies -23 % off the others"),
    )
    assert [one.pair for one in suspicions(probe(own))] == [4], "the baseline's own probe has step times only"


def test_an_outlier_is_far_in_deviations_and_in_per_cent() -> None:
    """Nine ratios of spread MAD = 0.01 about 0, hence a robust deviation of 0.014826, and one further off."""
    others = [-0.02, -0.01, -0.01, -0.005, 0.0, 0.005, 0.01, 0.01, 0.02]
    limit = 5 * 1.4826 * 0.01

    def with_one(off: float, scale: float = 1.0) -> list[int]:
        logs = [scale * value for value in (*others, off)]
        found = suspicions(probe([1.0] * 10, [math.exp(value) for value in logs]))
        return [one.pair for one in found]

    assert with_one(limit + 0.001) == [9]
    assert with_one(-limit - 0.001) == [9]
    assert with_one(limit - 0.001) == []
    assert with_one(limit + 0.1, scale=0.25) == [], "4.3 % off, as many deviations as it is"


def test_a_ratio_that_moves_with_the_machine_is_not_an_outlier() -> None:
    drift = [1.0 + 0.1 * pair for pair in range(10)]
    assert suspicions(probe([2.0 * slow for slow in drift], [4.0 * slow for slow in drift])) == ()


def test_overhead_is_told_of_the_shorter_block() -> None:
    timed = probe([2.0, 2.2], [4.0, 1.0], sync_ms=0.5, baseline_steps_per_block=20)
    assert overhead_share(timed) == pytest.approx(0.5 / 20)  # the baseline's 20 steps of 1 ms
    assert overhead_share(probe([2.0, 2.2], sync_ms=0.5)) == pytest.approx(0.5 / 100)
    assert overhead_share(probe([2.0, 2.2])) is None
