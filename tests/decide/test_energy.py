from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.decide.energy import joules_per_example
from autotune.trial import BlockConditions, Candidate, Effect, Policy, Probe, Xla


def used(*joules: float | None) -> tuple[BlockConditions, ...]:
    return tuple(BlockConditions(energy_j=value) for value in joules)


PROBE = Probe(
    candidate=Candidate(Policy("mixed_float16"), 64, Xla.OFF, (8,)),
    effect=Effect(False, (), "float32", False, "SGD", None, False, "GPU"),
    block_step_ms=(1.0, 1.0),
    baseline_step_ms=(1.0, 1.0),
    steps_per_block=100,
    warmup_step_ms=(),
    build_s=0.1,
    first_step_s=0.2,
    peak_memory_mb=None,
    loss=1.0,
    loss_finite=True,
    baseline_batch_size=32,
    baseline_steps_per_block=50,
    conditions=used(12.8, 6.4),
    baseline_conditions=used(16.0, 32.0),
)


def test_joules_are_spread_over_the_examples_of_a_block() -> None:
    found = joules_per_example(PROBE)
    assert found is not None
    assert found[0] == pytest.approx([12.8 / 6400, 6.4 / 6400])
    assert found[1] == pytest.approx([16.0 / 1600, 32.0 / 1600])


@pytest.mark.parametrize(
    "changed",
    [
        {"conditions": used(12.8, None)},
        {"baseline_conditions": used(0.0, 16.0)},  # the counter had not moved
        {"conditions": ()},
        {"baseline_conditions": used(16.0)},
        {"baseline_step_ms": (), "baseline_conditions": (), "baseline_steps_per_block": 0, "baseline_batch_size": 0},
    ],
)
def test_a_block_that_does_not_tell_leaves_nothing_to_compare(changed: dict[str, object]) -> None:
    assert joules_per_example(replace(PROBE, **changed)) is None
