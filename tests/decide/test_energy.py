from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.decide.energy import joules_per_example
from autotune.trial import BlockConditions, Candidate, Effect, Policy, Probe, Xla


def used(*joules: float | None) -> tuple[BlockConditions, ...]:
    return tuple(BlockConditions(energy_j=value) for value in joules)


OWN, OTHER = (12.0, 12.1, 12.2, 12.3, 12.4), (30.0, 30.1, 30.2, 30.3, 30.4)
PROBE = Probe(
    candidate=Candidate(Policy("mixed_float16"), 64, Xla.OFF, (8,)),
    effect=Effect(False, (), "float32", False, "SGD", None, False, "GPU"),
    block_step_ms=(1.0,) * 7,
    baseline_step_ms=(1.0,) * 7,
    steps_per_block=100,
    warmup_step_ms=(),
    build_s=0.1,
    first_step_s=0.2,
    peak_memory_mb=None,
    loss=1.0,
    loss_finite=True,
    baseline_batch_size=32,
    baseline_steps_per_block=50,
    conditions=used(12.8, 6.4, *OWN),
    baseline_conditions=used(16.0, 32.0, *OTHER),
)


def test_joules_are_spread_over_the_examples_of_a_block() -> None:
    found = joules_per_example(PROBE)
    assert found is not None
    assert found[0][:2] == pytest.approx([12.8 / 6400, 6.4 / 6400])
    assert found[1][:2] == pytest.approx([16.0 / 1600, 32.0 / 1600])
    assert len(found[0]) == len(found[1]) == 7


@pytest.mark.parametrize(
    "changed",
    [
        {"conditions": used(None, 6.4, *OWN)},
        {"baseline_conditions": used(0.0, 32.0, *OTHER)},  # the counter had not moved
        {"conditions": used(-5e6, 6.4, *OWN)},
        {"conditions": used(None, 6.4, *OWN), "baseline_conditions": used(None, 32.0, *OTHER)},
    ],
)
def test_a_pair_of_which_a_block_does_not_tell_is_left_out(changed: dict[str, object]) -> None:
    found = joules_per_example(replace(PROBE, **changed))
    assert found is not None
    assert found[0] == pytest.approx([value / 6400 for value in (6.4, *OWN)])
    assert found[1] == pytest.approx([value / 1600 for value in (32.0, *OTHER)])
    assert joules_per_example(replace(PROBE, **changed, apart_pairs=(4, 3))) is None, "rounds are told by their lengths"


@pytest.mark.parametrize(
    "changed",
    [
        {"conditions": used(None, 6.4, *OWN), "baseline_conditions": used(16.0, 0.0, *OTHER)},  # five remain
        {"conditions": used(*[None] * 7)},
        {"conditions": ()},
        {"baseline_conditions": used(32.0, *OTHER)},
        {"baseline_step_ms": (), "baseline_conditions": (), "baseline_steps_per_block": 0, "baseline_batch_size": 0},
    ],
)
def test_fewer_than_six_pairs_are_nothing_to_compare(changed: dict[str, object]) -> None:
    assert joules_per_example(replace(PROBE, **changed)) is None
