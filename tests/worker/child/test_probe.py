"""How blocks are taken: in turn with the reference's, which is built once a process."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.errors import TrialFault
from autotune.trial import Candidate, FailureKind, Xla
from autotune.worker.protocol import ProbeArgs
from tests.worker import people

pytestmark = pytest.mark.slow


def args(candidate: Candidate, config: Any, *, reference: bool = True, **timing: Any) -> ProbeArgs:
    baseline = people.candidate(xla=Xla.AUTO)
    settings = {"block_s": 0.005, "min_pairs": 6, "max_pairs": 7, "half_width": 0.9, "max_s": 5.0} | timing
    return ProbeArgs(
        candidate,
        people.recipe(candidate, config),
        baseline if reference else None,
        people.recipe(baseline, config) if reference else None,
        seed=0,
        **settings,
    )


def prober(config: Any) -> Any:
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed
    from autotune.worker.child.probe import Prober

    return Prober(ModelBuilder(config, (4,), 3), Feed(people.dataset().train, 0))


class Blocks:
    """Stands where a timed model stands; tells whose turn it was."""

    def __init__(self, name: str, turns: list[str], block_ms: list[float]) -> None:
        self.name, self.turns, self._ms = name, turns, block_ms

    def block_ms(self) -> float:
        self.turns.append(self.name)
        return self._ms[self.turns.count(self.name) % len(self._ms)]


def test_turns_alternate_so_that_a_drift_falls_on_both_alike() -> None:
    from autotune.worker.child.probe import _alternate

    turns: list[str] = []
    own, other = Blocks("c", turns, [1.0]), Blocks("b", turns, [2.0])
    taken = _alternate(own, other, args(people.candidate(), people.config()))
    assert "".join(turns) == "bccb" * 3
    assert taken == ([1.0] * 6, [2.0] * 6)


@pytest.mark.parametrize(
    ("timing", "pairs"),
    [
        ({"half_width": 0.01, "max_pairs": 9}, 9),  # never tight: as many as allowed
        ({"half_width": 0.01, "max_pairs": 900, "min_pairs": 12, "max_s": 1e-9}, 6),  # no time: no fewer than six
    ],
)
def test_sampling_ends_at_its_bounds(timing: dict[str, Any], pairs: int) -> None:
    from autotune.worker.child.probe import _alternate

    turns: list[str] = []
    own, other = Blocks("c", turns, [1.0, 2.0, 4.0]), Blocks("b", turns, [3.0])
    taken = _alternate(own, other, args(people.candidate(), people.config(), **timing))
    assert len(taken[0]) == len(taken[1]) == pairs


def test_the_reference_is_built_once_and_stays_float32_beside_a_16_bit_candidate() -> None:
    config = people.config()
    probing = prober(config)
    first = probing.probe(args(people.candidate("mixed_float16"), config))
    kept = probing._reference
    second = probing.probe(args(people.candidate("mixed_bfloat16", per_execution=4), config))
    assert probing._reference is kept
    assert {layer.compute_dtype for layer in kept[1].stepper.model.layers} == {"float32"}
    assert len(first.block_step_ms) == len(first.baseline_step_ms)
    assert second.steps_per_block % 4 == 0


def test_a_model_that_xla_cannot_compile_is_a_failure_to_compile() -> None:
    config = people.config(build="nets.not_for_xla")
    with pytest.raises(TrialFault) as caught:
        prober(config).probe(args(people.candidate(xla=Xla.ON), config, reference=False))
    assert caught.value.kind is FailureKind.COMPILE
    assert "\n" not in caught.value.message
    assert prober(config).probe(args(people.candidate(), config, reference=False)).loss_finite


def test_a_loss_that_is_not_finite_is_told_and_not_sent() -> None:
    config = people.config(build="nets.blank")
    probe = prober(config).probe(args(people.candidate(), config, reference=False))
    assert (probe.loss, probe.loss_finite) == (None, False)
