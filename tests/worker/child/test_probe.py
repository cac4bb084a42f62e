"""How blocks are taken: in turn with the reference's, which is built once a process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autotune.errors import TrialFault
from autotune.trial import BlockConditions, Candidate, FailureKind, Xla
from autotune.worker.protocol import ProbeArgs
from tests.worker import people

pytestmark = pytest.mark.slow


def args(candidate: Candidate, config: Any, *, reference: bool = True, **timing: Any) -> ProbeArgs:
    baseline = people.candidate(xla=Xla.AUTO)
    settings: dict[str, Any] = {
        "block_s": 0.005,
        "min_pairs": 6,
        "max_pairs": 7,
        "half_width": 0.9,
        "max_s": 5.0,
    } | timing
    return ProbeArgs(
        candidate,
        people.recipe(candidate, config),
        baseline if reference else None,
        people.recipe(baseline, config) if reference else None,
        seed=0,
        **settings,
    )


def prober(config: Any, **seen: Any) -> Any:
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed
    from autotune.worker.child.probe import Prober

    return Prober(ModelBuilder(config, (4,), 3), Feed(people.dataset().train, 0), **seen)


class Blocks:
    """Stands where a timed model stands; tells whose turn it was."""

    def __init__(self, name: str, turns: list[str], step_ms: list[float]) -> None:
        self.name, self.turns, self._ms = name, turns, step_ms

    def blocks(self, count: int) -> list[Any]:
        from autotune.worker.child.blocks import Block

        taken = []
        for _ in range(count):
            self.turns.append(self.name)
            taken.append(Block(self._ms[self.turns.count(self.name) % len(self._ms)], BlockConditions()))
        return taken


def test_turns_alternate_so_that_a_drift_falls_on_both_alike() -> None:
    from autotune.worker.child.probe import _alternate

    turns: list[str] = []
    own, other = Blocks("c", turns, [1.0]), Blocks("b", turns, [2.0])
    taken = _alternate(own, other, args(people.candidate(), people.config()))
    assert "".join(turns) == "bccb" * 3
    assert [[block.step_ms for block in blocks] for blocks in taken] == [[1.0] * 6, [2.0] * 6]


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


@pytest.mark.parametrize(
    ("below", "pairs"),
    [
        (None, 30),  # nobody asked
        (0.9, 8),  # the fewest that have a 99 % interval
        (0.55, 30),  # its interval reaches from 0.25 to 1.0 and it may be above
    ],
)
def test_a_candidate_that_is_clearly_out_is_given_up(below: float | None, pairs: int) -> None:
    from autotune.worker.child.probe import _alternate, _given_up

    turns: list[str] = []
    out = [5.0, 8.0, 6.0] if below == 0.9 else [3.0, 12.0, 6.0]
    own, other = Blocks("c", turns, out), Blocks("b", turns, [3.0])
    asked = args(people.candidate(), people.config(), hopeless_below=below, min_pairs=10, max_pairs=30, half_width=0.01)
    taken = _alternate(own, other, asked)
    assert len(taken[0]) == len(taken[1]) == pairs
    assert _given_up(*taken, asked) is (pairs == 8)


def test_batches_count_in_what_is_hopeless() -> None:
    """Three times the step time at four times the batch is 1.33 times as fast."""
    from autotune.worker.child.probe import _alternate

    config, turns = people.config(), list[str]()
    asked = args(people.candidate(batch=40), config, hopeless_below=1.2, min_pairs=10, max_pairs=10)
    own, _ = _alternate(Blocks("c", turns, [3.0]), Blocks("b", turns, [1.0]), asked)
    assert len(own) == 10
    own, _ = _alternate(Blocks("c", turns, [3.0]), Blocks("b", turns, [1.0]), replace(asked, hopeless_below=1.4))
    assert len(own) == 8


def test_a_probe_says_that_it_was_given_up() -> None:
    config = people.config()
    timing = {"min_pairs": 20, "max_pairs": 20}
    given_up = prober(config).probe(args(people.candidate(), config, hopeless_below=1000.0, **timing))
    assert (given_up.hopeless_below, len(given_up.block_step_ms)) == (1000.0, 8)
    whole = prober(config).probe(args(people.candidate(), config, hopeless_below=0.001, **timing))
    assert (whole.hopeless_below, len(whole.block_step_ms)) == (None, 20)


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


def test_a_block_is_a_hundred_times_as_long_as_its_clock_and_its_wait() -> None:
    """Whatever is asked: here, blocks of no length."""
    config = people.config()
    probe = prober(config).probe(args(people.candidate(), config, block_s=1e-9))
    assert probe.sync_ms is not None
    step_ms = min(probe.warmup_step_ms[-2:])
    assert probe.steps_per_block * step_ms >= 100 * probe.sync_ms
    assert probe.baseline_steps_per_block > 1


def test_blocks_may_be_asked_for_by_their_steps() -> None:
    config = people.config()
    probe = prober(config).probe(args(people.candidate(), config, reference=False, steps_per_block=7))
    assert probe.steps_per_block == 7
    assert (probe.baseline_steps_per_block, probe.baseline_batch_size) == (0, 0)


def test_every_block_has_its_conditions_and_both_models_their_memory() -> None:
    from autotune.worker.child.conditions import watch_here
    from autotune.worker.child.framework import accelerator

    config = people.config()
    probing = prober(config, watch=watch_here())
    probe = probing.probe(args(people.candidate(batch=20), config))
    again = probing.probe(args(people.candidate(batch=40), config))
    assert len(probe.conditions) == len(probe.block_step_ms)
    assert len(probe.baseline_conditions) == len(probe.baseline_step_ms)
    assert all(block.preemptions is not None for block in (*probe.conditions, *probe.baseline_conditions))
    assert (probe.baseline_batch_size, probe.candidate.batch_size) == (10, 20)
    assert probe.baseline_peak_memory_mb is not None
    if accelerator() != "GPU":
        assert (probe.peak_memory_mb, again.peak_memory_mb) == (None, None), "of the first model alone"
    assert again.baseline_peak_memory_mb == probe.baseline_peak_memory_mb, "of when it was made"


def test_the_pipelines_share_is_measured_when_asked_for_and_after_the_blocks() -> None:
    config = people.config()
    without = prober(config).probe(args(people.candidate(), config, reference=False))
    with_it = prober(config).probe(args(people.candidate(), config, reference=False, pipeline=True))
    assert without.pipeline is None
    assert with_it.pipeline is not None
    assert len(with_it.pipeline.fed_step_ms) >= 6
    # The loss is of the candidate's last block: the resident batch is learnt by heart afterwards.
    assert with_it.loss == pytest.approx(without.loss, rel=0.5)


def test_blocks_run_with_the_callbacks_of_their_own_candidate() -> None:
    import keras

    steps: dict[int, int] = {}

    def callbacks(candidate: Candidate) -> list[Any]:
        def count(batch: int, logs: Any) -> None:
            steps[candidate.batch_size] = steps.get(candidate.batch_size, 0) + 1

        return [keras.callbacks.LambdaCallback(on_train_batch_end=count)]

    config = people.config()
    probe = prober(config, callbacks=callbacks).probe(args(people.candidate(batch=20), config))
    assert steps.keys() == {10, 20}
    assert steps[20] > probe.steps_per_block * len(probe.block_step_ms)


def test_models_that_are_done_with_are_gone_before_memory_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    import gc
    import weakref

    from autotune.worker.child import framework
    from autotune.worker.child.build import BuiltModel, ModelBuilder
    from autotune.worker.child.feed import Feed
    from autotune.worker.child.probe import Prober

    made: list[Any] = []
    alive: list[int] = []

    class Noting(ModelBuilder):
        def build(self, *args: Any) -> BuiltModel:
            built = super().build(*args)
            made.append(weakref.ref(built.model))
            return built

    def reading() -> float:
        alive.append(sum(model() is not None for model in made))
        return 0.0

    monkeypatch.setattr(framework, "memory_mb", reading)
    config = people.config()
    probing = Prober(Noting(config, (4,), 3), Feed(people.dataset().train, 0))
    gc.disable()
    try:
        for batch in (20, 30, 40):
            probing.probe(args(people.candidate(batch=batch), config))
    finally:
        gc.enable()
    assert len(made) == 4
    assert alive == [0, 1, 1, 1], "the reference alone"
