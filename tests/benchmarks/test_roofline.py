"""How much of this machine's own matrix product peak the tuned settings reach, beside the user's own.

The peak is what one large square product reaches in the same process and the same dtype, in turn with the blocks of
training steps, so that a machine that drifts does so for both. Work is that of the layers' products, which the worker
counts: three times the forward pass (the backward pass has two products for each of it; the first layer needs no
gradient of its input, which is not taken off). Optimizer, activations and input are no work and take time: the share
says how far a step is from being all products.

`WINNERS` are what default studies named on two cores of an AMD EPYC with avx512_bf16; where the device offers no
bfloat16, float32 stands in.

Alone (two minutes on two cores): `python -m pytest tests/benchmarks/test_roofline.py -m bench -s`
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from autotune.decide import timing
from autotune.hardware.device import detect
from autotune.hardware.policies import offered, policy_choices
from autotune.space.build import baseline_candidate
from autotune.space.recipe import Fidelity, recipe_for
from autotune.trial import Candidate, Policy, Xla
from tests.benchmarks.figures import cpu, print_table, with_bounds
from tests.benchmarks.test_runner_against_fit import CASES, Case, _config, _dataset

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

PAIRS = 10
BLOCK_S = 0.3
SIDE = 2048
"""Rows and columns of the square product."""

# Batch and steps a call, by model.
WINNERS = {"cifar_mlp": (64, 8), "cifar_cnn": (128, 8), "digits_mlp": (256, 8)}


@pytest.fixture(scope="module")
def rows() -> Iterator[list[tuple[str, ...]]]:
    """Lines of the one table, printed after the last model."""
    collected: list[tuple[str, ...]] = []
    yield collected
    head = ("model", "share of peak [95 %]", "setting", "GFLOP/s", "peak GFLOP/s")
    print_table(f"Roofline: training against one {SIDE} x {SIDE} product", head, collected, cpu())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.model)
def test_a_training_step_is_no_faster_than_its_products(
    case: Case, rows: list[tuple[str, ...]], tmp_path: Path
) -> None:
    from autotune.worker.child import framework

    framework.start()
    config = _config(case.model, tmp_path)
    own = baseline_candidate(config, framework.accelerator())
    batch, steps = WINNERS[case.model]
    low = [name for name in offered(policy_choices(detect().profile)) if name != "float32"]
    tuned = replace(own, policy=Policy(low[0] if low else "float32"), batch_size=batch, xla=Xla.OFF)
    for candidate in (own, replace(tuned, steps_per_execution=steps)):
        step, flop = _step(case, candidate, tmp_path)
        product, product_flop = _product(candidate.policy.compute_dtype), 2.0 * SIDE**3
        step_ms, product_ms = _in_turn(step, product)
        # As rates of work: a step's over a product's.
        share = timing.speedup(timing.log_ratios(product_ms, step_ms, product_flop, flop))
        rates = [f"{work / median(ms) / 1e6:,.0f}" for work, ms in ((flop, step_ms), (product_flop, product_ms))]
        setting = f"{candidate.policy} b{candidate.batch_size} x{candidate.steps_per_execution}"
        rows.append((case.model, with_bounds(share), setting, *rates))
        assert share.low < 1, "more than the peak: the work or the peak is counted wrongly"


def _step(case: Case, candidate: Candidate, cwd: Path) -> tuple[Callable[[], float], float]:
    """What times a block of steps and returns the mean step time [ms]; and a step's work [FLOP]."""
    from autotune.worker.child import effect
    from autotune.worker.child.blocks import Stepper
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed

    config = _config(case.model, cwd)
    examples = min(case.examples, 32 * candidate.batch_size) // candidate.batch_size * candidate.batch_size
    recipe = recipe_for(config.train, candidate, Fidelity(examples, 1))
    dataset = _dataset(case, examples)
    model = ModelBuilder(config, dataset.input_shape, dataset.num_classes).build(candidate, recipe, 0).model
    batches = Feed(dataset.train, 0).batches(examples=examples, batch_size=candidate.batch_size, seed=None)
    stepper = Stepper(model, batches, candidate)
    stepper.first_step_s()
    steps = stepper.steps_for(BLOCK_S, stepper.step_ms(stepper.steps_for(BLOCK_S / 10, 10.0)))
    forward = sum(layer.flops_per_example or 0 for layer in effect.inspect(model).layers)
    return lambda: stepper.step_ms(steps), 3.0 * forward * candidate.batch_size


def _product(dtype: str) -> Callable[[], float]:
    """What times products for a block and returns the mean time of one [ms]."""
    import tensorflow as tf

    one, other = (tf.cast(tf.random.stateless_normal((SIDE, SIDE), (0, n)), dtype) for n in range(2))
    multiply = tf.function(lambda a, b: tf.reduce_sum(tf.matmul(a, b)))

    def block() -> float:
        began, count = time.perf_counter(), 0
        while count == 0 or time.perf_counter() - began < BLOCK_S:
            multiply(one, other).numpy()
            count += 1
        return (time.perf_counter() - began) / count * 1e3

    block()
    return block


def _in_turn(step: Callable[[], float], product: Callable[[], float]) -> tuple[list[float], list[float]]:
    steps_ms, products_ms = [], []
    step()
    for _ in range(PAIRS):
        steps_ms.append(step())
        products_ms.append(product())
    return steps_ms, products_ms
