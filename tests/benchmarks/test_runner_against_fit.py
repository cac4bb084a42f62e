"""Throughput of the worker's own training path against a bare Keras `fit` with the same settings on the same data.

It shows whether a person pays for being measured: `Trainer` (what accuracy is taken from) and `Stepper` (what speed is
taken from) against `fit(x, y, batch_size=, shuffle=True)`, the way most people call it, and against `fit` on a plain
tf.data pipeline. A ratio above 1 means that ours is faster. The row "arrays, again" is a second, equal bare model: what
it differs from 1 by is what two equal things differ by here, and no ratio is known better than that.

All paths run in one process, on models that were compiled before the clock starts, in blocks that follow one another
forwards and then backwards, so that a machine that drifts does so for all. Timed is training alone, from the start of
the first epoch to the end of the last one; evaluation, tracing and compilation are apart. After the first block the
cosine schedule has reached zero: weights rest, the work of a step is the same. Data is random, made here.

`Stepper` leaves the start of an epoch out, `Trainer` and `fit` have it in. Where an epoch is eight steps of a
millisecond that is a large part of the distance between them. The CIFAR blocks have 15 steps where the data set has
1,406; what those rows say of a few per cent need not hold for a whole epoch. Intervals are over pairs of one process.

Alone (five minutes on two shared cores): `python -m pytest tests/benchmarks/test_runner_against_fit.py -m bench -s`

Measured on 2026-12-01 on AMD EPYC, 2 cores (virtual, shared with other work: load average 1.5), Python 3.11.7,
tensorflow 2.21.0, keras 3.15.1, float32. Quote the ratios only, and of one day: `digits_mlp` had 3.6 the day before,
and before and after the input pipeline changed in between, taken in turn three times, 2.1 to 2.2.

    model       batch  steps x epochs           ours  examples/s       against  examples/s          ratio [95 %]  pairs
    cifar_mlp      32           8 x 1        Trainer         456   fit(arrays)         423    1.07 [0.996, 1.15]     24
    cifar_mlp      32           8 x 1        Trainer         456  fit(tf.data)         466    1.01 [0.966, 1.05]     24
    cifar_mlp      32           8 x 1        Stepper         464   fit(arrays)         423     1.11 [1.04, 1.19]     24
    cifar_mlp      32           8 x 1        Stepper         464       Trainer         456    1.04 [0.991, 1.09]     24
    cifar_mlp      32           8 x 1  arrays, again         425   fit(arrays)         423    0.989 [0.94, 1.04]     24
    cifar_cnn      64           4 x 1        Trainer         539   fit(arrays)         522     1.05 [1.01, 1.11]     24
    cifar_cnn      64           4 x 1        Trainer         539  fit(tf.data)         564  0.955 [0.924, 0.988]     24
    cifar_cnn      64           4 x 1        Stepper         609   fit(arrays)         522      1.15 [1.1, 1.19]     24
    cifar_cnn      64           4 x 1        Stepper         609       Trainer         539     1.08 [1.05, 1.12]     24
    cifar_cnn      64           4 x 1  arrays, again         541   fit(arrays)         522    1.04 [0.992, 1.07]     24
    digits_mlp    128           8 x 7        Trainer      25,481   fit(arrays)      11,947      2.1 [1.93, 2.24]     24
    digits_mlp    128           8 x 7        Trainer      25,481  fit(tf.data)      22,979    1.08 [0.995, 1.15]     24
    digits_mlp    128           8 x 7        Stepper      30,455   fit(arrays)      11,947     2.64 [2.44, 2.85]     24
    digits_mlp    128           8 x 7        Stepper      30,455       Trainer      25,481     1.27 [1.22, 1.31]     24
    digits_mlp    128           8 x 7  arrays, again      11,432   fit(arrays)      11,947    0.937 [0.85, 1.07]     24
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from autotune.config.schema import Config
from autotune.data import Dataset, Part
from autotune.decide import timing
from autotune.space.build import baseline_candidate
from autotune.space.recipe import Fidelity, recipe_for
from autotune.targets import resolve
from autotune.trial import Candidate, Recipe
from tests.benchmarks.figures import cpu, print_table, with_bounds

pytestmark = pytest.mark.bench

PAIRS = 24
LEAST = 0.97
"""Of the lower bound of ours over `fit(arrays)`."""

# Of `fit(arrays)`; the other paths take as many steps.
BLOCK_S = 0.5
SEED = 0

# Ours, against what. The first name of each is a key of `_paths`.
COMPARED = (
    ("Trainer", "fit(arrays)"),
    ("Trainer", "fit(tf.data)"),
    ("Stepper", "fit(arrays)"),
    ("Stepper", "Trainer"),
    ("arrays, again", "fit(arrays)"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A model of `conf/model`, the shape of its data, and the size of the training part that it has in a study.

    An epoch here is never longer than that one, and shorter only where it would not fit into a block.
    """

    model: str
    input_shape: tuple[int, ...]
    examples: int


CASES = (
    Case("cifar_mlp", (32, 32, 3), 45_000),
    Case("cifar_cnn", (32, 32, 3), 45_000),
    Case("digits_mlp", (28, 28, 1), 1_151),
)

Block = Callable[[], float]
"""Trains for one block and returns its mean step time [ms]."""


@pytest.fixture(scope="module")
def rows() -> Iterator[list[tuple[str, ...]]]:
    """Lines of the one table, printed after the last model."""
    from autotune.worker.child import framework

    collected: list[tuple[str, ...]] = []
    yield collected
    head = ("model", "batch", "steps x epochs", "ours", "examples/s", "against", "examples/s", "ratio [95 %]", "pairs")
    accelerators = [str(d.get("device_name")) for d in framework.start().devices if d["type"] != "CPU"]
    print_table("Training: ours against a bare fit", head, collected, "; ".join([*accelerators, cpu()]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.model)
def test_training_is_not_slower_than_a_bare_fit(case: Case, rows: list[tuple[str, ...]], tmp_path: Path) -> None:
    from autotune.worker.child import framework

    framework.start()
    config = _config(case.model, tmp_path)
    candidate = baseline_candidate(config, framework.accelerator())
    fidelity = _fidelity(config, candidate, case)
    step_ms = _interleaved(_paths(config, candidate, case, fidelity))
    batch = candidate.batch_size
    ratios = {}
    for ours, bare in COMPARED:
        ratio = ratios[ours, bare] = timing.speedup(timing.log_ratios(step_ms[bare], step_ms[ours], batch, batch))
        speeds = [f"{batch / median(step_ms[path]) * 1e3:,.0f}" for path in (ours, bare)]
        block = f"{fidelity.examples // batch} x {fidelity.epochs}"
        rows.append((case.model, str(batch), block, ours, speeds[0], bare, speeds[1], with_bounds(ratio), str(ratio.n)))
    # The usual way to call `fit` is the one that is promised; the tf.data pipeline is shown and not asserted.
    lows = {ours: ratios[ours, "fit(arrays)"].low for ours in ("Trainer", "Stepper")}
    assert {ours: low for ours, low in lows.items() if low <= LEAST} == {}


def _config(model: str, cwd: Path) -> Config:
    """The configuration that `python -m autotune model=...` runs with."""
    from hydra import compose, initialize_config_module

    from autotune.config.compose import load, register_schema

    register_schema()
    with initialize_config_module("autotune.conf", version_base="1.3"):
        return load(compose("config", [f"model={model}"]), cwd)


def _random_part(case: Case, count: int) -> Part:
    rng = np.random.default_rng(SEED)
    x = rng.random((count, *case.input_shape), dtype=np.float32)
    return Part(x, rng.integers(0, 10, count).astype(np.int32))


def _dataset(case: Case, examples: int) -> Dataset:
    return Dataset(
        name="random",
        train=_random_part(case, examples),
        validation=_random_part(case, 128),
        test=_random_part(case, 1),
        num_classes=10,
        input_shape=case.input_shape,
        stand_in=None,
        origin="random",
        fingerprint="",
    )


def _fidelity(config: Config, candidate: Candidate, case: Case) -> Fidelity:
    """Whole batches and epochs that `fit(arrays)` takes about `BLOCK_S` for."""
    batch, most_steps = candidate.batch_size, case.examples // candidate.batch_size
    trial = Fidelity(min(16, most_steps) * batch, 1)
    part = _random_part(case, trial.examples)
    recipe = recipe_for(config.train, candidate, trial)
    bare = _BareFit(config, candidate, recipe, case)
    _, step_ms = [bare.step_ms(recipe, x=part.x, y=part.y, batch_size=batch) for _ in range(2)]
    steps = round(BLOCK_S * 1e3 / step_ms)
    per_epoch = max(1, min(steps, most_steps))
    return Fidelity(per_epoch * batch, max(1, round(steps / per_epoch)))


def _paths(config: Config, candidate: Candidate, case: Case, fidelity: Fidelity) -> dict[str, Block]:
    """Every path by name, warm, with blocks of equally many steps."""
    import tensorflow as tf

    dataset = _dataset(case, fidelity.examples)
    x, y, batch = dataset.train.x, dataset.train.y, candidate.batch_size
    recipe = recipe_for(config.train, candidate, fidelity)
    bare, again = (_BareFit(config, candidate, recipe, case) for _ in range(2))
    pipeline = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(y)).batch(batch).prefetch(tf.data.AUTOTUNE)
    paths: dict[str, Block] = {
        "fit(arrays)": lambda: bare.step_ms(recipe, x=x, y=y, batch_size=batch, shuffle=True),
        "fit(tf.data)": lambda: bare.step_ms(recipe, x=pipeline, shuffle=False),
        "arrays, again": lambda: again.step_ms(recipe, x=x, y=y, batch_size=batch, shuffle=True),
        **_our_paths(config, candidate, recipe, dataset),
    }
    for block in paths.values():
        block()
    return paths


def _our_paths(config: Config, candidate: Candidate, recipe: Recipe, dataset: Dataset) -> dict[str, Block]:
    """`Trainer` and `Stepper`, put together as the worker does, on one compiled model."""
    from autotune.worker.child.blocks import Stepper
    from autotune.worker.child.build import BuiltModel, ModelBuilder
    from autotune.worker.child.feed import Feed
    from autotune.worker.child.train import Trainer
    from autotune.worker.protocol import TrainArgs

    class CompiledOnce(ModelBuilder):
        """Hands out the same model again, so that no block waits for tracing."""

        built: BuiltModel | None = None

        def build(self, candidate: Candidate, recipe: Recipe, seed: int) -> BuiltModel:
            self.built = self.built or super().build(candidate, recipe, seed)
            return self.built

    builder = CompiledOnce(config, dataset.input_shape, dataset.num_classes)
    feed = Feed(dataset.train, config.data.split_seed)
    trainer = Trainer(config, dataset, builder, feed)
    batches = feed.batches(examples=recipe.examples, batch_size=candidate.batch_size, seed=None)  # as `Prober` does
    stepper = Stepper(builder.build(candidate, recipe, SEED).model, batches, candidate)

    def train() -> float:
        return trainer.train(TrainArgs(candidate, recipe, SEED)).train_s / recipe.total_steps * 1e3

    return {"Trainer": train, "Stepper": lambda: stepper.step_ms(recipe.total_steps)}


class _BareFit:
    """A model made and compiled as in a person's own script, with the same settings."""

    def __init__(self, config: Config, candidate: Candidate, recipe: Recipe, case: Case) -> None:
        import keras

        builder = resolve(config.model._target_, "model._target_")
        keras.utils.set_random_seed(SEED)
        self.model = builder(widths=candidate.widths, input_shape=case.input_shape, num_classes=10)
        optimizer = {"sgd": keras.optimizers.SGD, "adam": keras.optimizers.Adam, "rmsprop": keras.optimizers.RMSprop}
        schedule = keras.optimizers.schedules.CosineDecay(recipe.learning_rate, recipe.total_steps)
        self.model.compile(optimizer[config.train.optimizer](schedule), loss="sparse_categorical_crossentropy")

    def step_ms(self, recipe: Recipe, **fit: Any) -> float:
        """Mean step time of one call of `fit`, on the clock that `Trainer` uses [ms]."""
        import keras

        times_s: list[float] = []
        clock = keras.callbacks.LambdaCallback(
            on_train_begin=lambda logs: times_s.append(time.perf_counter()),
            on_epoch_end=lambda epoch, logs: times_s.append(time.perf_counter()),
        )
        self.model.fit(epochs=recipe.epochs, callbacks=[clock], verbose=0, **fit)
        return (times_s[-1] - times_s[0]) / recipe.total_steps * 1e3


def _interleaved(paths: dict[str, Block]) -> dict[str, list[float]]:
    """Step times of `PAIRS` blocks of every path [ms], in turn, forwards and then backwards."""
    step_ms: dict[str, list[float]] = {name: [] for name in paths}
    for number in range(PAIRS):
        for name in list(paths) if number % 2 == 0 else reversed(list(paths)):
            step_ms[name].append(paths[name]())
    return step_ms
