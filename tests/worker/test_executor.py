"""A whole worker with the framework: probes, trainings, evaluation, export; and its replacement.

A worker takes seconds to start, so tests share one where its state does not matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from autotune.config.schema import Config
from autotune.decide import health
from autotune.errors import ConfigError, DataError, TrialFault
from autotune.trial import Candidate, DatasetFacts, FailureKind, Probe, Stage, TrainingRun, WorkerFacts, Xla
from autotune.worker.executor import LocalExecutor
from autotune.worker.metrics import correct
from autotune.worker.protocol import EvaluateArgs, ExportArgs, InspectArgs, ReloadArgs
from tests.worker import people

pytestmark = pytest.mark.slow

BASELINE = people.candidate(xla=Xla.AUTO)
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")


@dataclass
class Started:
    """An executor, and every worker that it told of."""

    executor: LocalExecutor
    config: Config
    folder: Path
    workers: list[tuple[int, WorkerFacts, DatasetFacts]] = field(default_factory=list)

    @property
    def pid(self) -> int:
        return self.workers[-1][1].pid

    def probe(self, candidate: Candidate, reference: Candidate | None = BASELINE) -> Probe:
        pair = None if reference is None else (reference, people.recipe(reference, self.config))
        return self.executor.probe(
            candidate, people.recipe(candidate, self.config), pair, Stage.SCREEN if pair else Stage.BASELINE
        )

    def train(self, candidate: Candidate, seed: int = 0, keep: Path | None = None) -> TrainingRun:
        return self.executor.train(candidate, seed, people.recipe(candidate, self.config), keep)


def started(folder: Path, config: Config, memory_limit_mb: float | None = None) -> Started:
    told: list[tuple[int, WorkerFacts, DatasetFacts]] = []
    executor = LocalExecutor(config, folder / "worker.log", memory_limit_mb, lambda *facts: told.append(facts))
    return Started(executor, config, folder, told)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The person's folder, which is the working directory for the whole module: workers are started in it."""
    here = tmp_path_factory.mktemp("person")
    people.write(here)
    people.write_arrays(here / "mine.npz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        yield here


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[Started]:
    """One that every test may use and that no test may end."""
    made = started(folder, people.config(npz=folder / "mine.npz"))
    made.executor.start()
    yield made
    made.executor.close()
    assert not psutil.pid_exists(made.pid)
    assert len(made.workers) == 1, "a test has ended the worker that the others share"


@pytest.fixture
def own(folder: Path) -> Iterator[Any]:
    """Makes an executor for this test alone: `own(build=...)`."""
    made: list[Started] = []

    def make(**config: Any) -> Started:
        made.append(started(folder, people.config(**{"npz": folder / "mine.npz", **config})))
        return made[-1]

    yield make
    for one in made:
        one.executor.close()


def test_a_worker_tells_of_itself_and_of_its_data(shared: Started) -> None:
    number, facts, data = shared.workers[0]
    assert number == 1
    assert facts.pid not in (0, os.getpid())
    assert psutil.Process(facts.pid).ppid() == os.getpid()
    assert facts.accelerator in {device["type"] for device in facts.devices}
    assert (facts.tf32 is None) == (facts.accelerator != "GPU")
    assert facts.versions.keys() >= {"tensorflow", "keras", "numpy"}
    assert facts.environment["KERAS_BACKEND"] == "tensorflow"
    assert facts.import_s > 0
    assert (data.train, data.validation, data.test, data.input_shape, data.num_classes) == (120, 40, 40, (4,), 3)
    assert data.origin == str(shared.folder / "mine.npz")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_probe_pairs_its_blocks_with_the_baselines_and_says_what_was_in_force(shared: Started, policy: str) -> None:
    candidate = people.candidate(policy)
    probe = shared.probe(candidate)
    assert (probe.candidate, probe.worker) == (candidate, 1)
    timing = shared.config.search.timing
    assert timing.min_pairs <= len(probe.block_step_ms) == len(probe.baseline_step_ms) <= timing.max_pairs
    assert min(probe.block_step_ms + probe.baseline_step_ms) > 0
    assert probe.steps_per_block * probe.warmup_step_ms[-1] >= 0.5 * timing.block_s * 1e3
    assert len(probe.warmup_step_ms) >= 3
    assert len(probe.conditions) == len(probe.baseline_conditions) == len(probe.block_step_ms)
    assert probe.sync_ms is not None
    assert probe.steps_per_block * probe.warmup_step_ms[-1] >= 50 * probe.sync_ms
    assert (probe.pipeline, probe.apart_pairs) == (None, ())
    assert probe.first_step_s > probe.step_time_ms / 1e3
    assert probe.compile_s > 0
    assert probe.loss_finite
    assert probe.peak_memory_mb is None or probe.peak_memory_mb >= 0
    dtypes = [(layer.kind, layer.compute_dtype, layer.variable_dtype) for layer in probe.effect.layers]
    low = policy.removeprefix("mixed_")
    assert dtypes == [("Dense", low, "float32"), ("Dense", "float32", "float32")]
    assert probe.effect.output_dtype == "float32"
    assert probe.effect.loss_scaling == (policy == "mixed_float16")
    assert (probe.effect.xla, probe.effect.optimizer) == (False, "SGD")
    assert probe.effect.placed_on == shared.workers[0][1].accelerator
    assert health.probe_failure(probe) is None


def test_a_probe_of_the_baseline_has_no_pairs(shared: Started) -> None:
    probe = shared.probe(BASELINE, reference=None)
    assert len(probe.block_step_ms) == shared.config.search.timing.min_pairs
    assert probe.baseline_step_ms == ()
    assert probe.pipeline is not None


def test_xla_and_several_steps_an_execution_are_in_force_when_asked_for(shared: Started) -> None:
    probe = shared.probe(people.candidate("mixed_bfloat16", batch=20, xla=Xla.ON, per_execution=8))
    assert probe.effect.xla
    assert probe.steps_per_block % 8 == 0
    assert health.probe_failure(probe) is None


def test_trainings_are_paired_by_seed_and_repeat_themselves(shared: Started) -> None:
    runs = {policy: shared.train(people.candidate(policy), seed=4) for policy in POLICIES}
    assert len({run.weights_digest for run in runs.values()}) == 1
    again = shared.train(people.candidate(), seed=4)
    assert (again.metric, again.curve[-1].train_loss) == (runs["float32"].metric, runs["float32"].curve[-1].train_loss)
    assert shared.train(people.candidate(), seed=5).weights_digest != again.weights_digest
    assert all(health.training_failure(run, 0.2) is None for run in runs.values())
    assert {run.worker for run in runs.values()} == {1}


@dataclass(frozen=True)
class Exported:
    """A trained model of each policy, its SavedModel and its reload reference."""

    model: dict[str, str]
    saved: dict[str, str]
    reference: dict[str, str]


@pytest.fixture(scope="module")
def exported(shared: Started) -> Exported:
    made = Exported({}, {}, {})
    for policy in POLICIES:
        keep = shared.folder / policy / "model.keras"
        made.model[policy] = str(keep)
        made.saved[policy], made.reference[policy] = str(keep.parent / "saved"), str(keep.parent / "reference.npz")
        shared.train(people.candidate(policy), keep=keep)
        shared.executor.export(ExportArgs(made.model[policy], made.saved[policy], made.reference[policy], examples=16))
    return made


def test_the_reload_reference_is_of_the_validation_part(shared: Started, exported: Exported) -> None:
    """The test part is for the evaluation alone."""
    with np.load(shared.folder / "mine.npz") as arrays, np.load(exported.reference["float32"]) as reference:
        np.testing.assert_array_equal(reference["x"], arrays["x_val"][:16])
        assert (reference["y"].shape, reference["y"].dtype) == ((16, 3), np.float32)


def test_evaluation_is_paired_on_the_test_part(shared: Started, exported: Exported) -> None:
    """Recomputed with nothing but NumPy from the kept weights."""
    other = shared.folder / "other.keras"
    shared.train(people.candidate(), seed=9, keep=other)
    found = shared.executor.evaluate(EvaluateArgs(str(other), exported.model["float32"]))
    x, y = people.arrays(40, 2)
    ours, theirs = (correct(y, forward(Path(path), x)) for path in (other, exported.model["float32"]))
    assert (found.examples, found.metric, found.baseline_metric) == (40, ours.mean(), theirs.mean())
    assert (found.only_model, found.only_baseline) == ((ours & ~theirs).sum(), (theirs & ~ours).sum())
    assert found.only_model
    assert found.only_baseline


def forward(path: Path, x: Any) -> Any:
    """Logits of the kept 4-16-3 perceptron; softmax does not move the largest."""
    import io
    import zipfile

    h5py = pytest.importorskip("h5py")
    with zipfile.ZipFile(path) as archive, h5py.File(io.BytesIO(archive.read("model.weights.h5"))) as weights:
        found: dict[tuple[int, ...], Any] = {}
        weights["layers"].visititems(
            lambda _, item: found.update({item.shape: item[()]} if hasattr(item, "shape") else {})
        )
    hidden = np.maximum(x @ found[4, 16] + found[16,], 0)
    return hidden @ found[16, 3] + found[3,]


def test_a_model_is_taken_apart_in_the_studys_own_worker_which_evaluates_as_before(
    shared: Started, exported: Exported
) -> None:
    """Dense 4-16-3, two products for the first layer and three for the second, whose input has a gradient."""
    before = shared.executor.evaluate(EvaluateArgs(exported.model["mixed_bfloat16"], exported.model["float32"]))
    own = people.candidate()
    args = InspectArgs(own, people.candidate("mixed_bfloat16"), people.recipe(own, shared.config), calibrate=False)
    found = shared.executor.inspect(args)
    flops = 2 * own.batch_size * (2 * 4 * 16 + 3 * 16 * 3)
    assert sum(layer.flops for layer in found.float32.layers) == flops
    probed = {product.dtype: product.flops for product in shared.probe(own, None).effect.products}
    assert probed == {"float32": flops}, "the same step was traced"
    assert found.reduced is not None
    assert {product.dtype for product in found.reduced.layers[0].products} == {"bfloat16"}
    assert (found.calibration, found.failures) == (None, {})
    again = shared.executor.evaluate(EvaluateArgs(exported.model["mixed_bfloat16"], exported.model["float32"]))
    assert again == before


def test_a_model_that_cannot_be_built_in_float32_is_a_fault_and_the_next_worker_is_a_fresh_one(
    own: Any, folder: Path
) -> None:
    made = own(build="nets.nothing")
    asked = people.candidate()
    with pytest.raises(TrialFault, match=r"must return a keras.Model"):
        made.executor.inspect(InspectArgs(asked, None, people.recipe(asked, made.config)))
    made.executor.start()
    assert [number for number, _, _ in made.workers] == [1, 2]


def test_evaluation_without_a_baseline(shared: Started, exported: Exported) -> None:
    found = shared.executor.evaluate(EvaluateArgs(exported.model["mixed_bfloat16"], None))
    assert found.metric is not None
    assert (found.baseline_metric, found.only_model, found.only_baseline) == (None, None, None)


def test_exported_models_predict_the_same_in_a_fresh_process_under_another_policy(
    folder: Path, exported: Exported
) -> None:
    made = started(folder, people.config(npz=folder / "mine.npz"))
    with made.executor.aside() as worker:
        pid = worker._process.pid
        differences = {
            (policy, form): worker.reload(ReloadArgs(paths[policy], exported.reference[policy], other))
            for policy in POLICIES
            for other in ("float32" if policy != "float32" else "mixed_bfloat16",)
            for form, paths in (("keras", exported.model), ("saved", exported.saved))
        }
        assert max(differences.values()) < 0.01, differences
        assert max(value for (policy, _), value in differences.items() if policy == "float32") < 1e-5
        np.savez(folder / "blank.npz", x=np.zeros((2, 4), "float32"), y=np.full((2, 3), np.nan, "float32"), scale=1.0)
        with pytest.raises(TrialFault, match=r"model.keras predicts values that are not finite") as caught:
            worker.reload(ReloadArgs(exported.model["float32"], str(folder / "blank.npz"), "float32"))
        assert caught.value.kind is FailureKind.NAN
        assert worker.reload(ReloadArgs(exported.model["float32"], exported.reference["float32"], "float32")) < 1e-5
    assert not psutil.pid_exists(pid)


def test_a_model_with_a_persons_own_layer_is_evaluated_exported_and_reloaded(own: Any, folder: Path) -> None:
    """Its class is not registered with Keras; whoever loads the model has the builder's module."""
    made = own(build="nets.collapsing")
    keep, saved, reference = (folder / "own" / name for name in ("model.keras", "saved", "reference.npz"))
    run = made.train(people.candidate(), keep=keep)
    assert made.executor.evaluate(EvaluateArgs(str(keep), str(keep))).metric is not None
    made.executor.export(ExportArgs(str(keep), str(saved), str(reference)))
    assert run.model_path == str(keep)
    with made.executor.aside() as worker:
        with pytest.raises(TrialFault, match=r"model.keras does not load: Could not locate class 'TinyEpsilon'"):
            worker.reload(ReloadArgs(str(keep), str(reference), "float32"))
        for path in (keep, saved):
            assert worker.reload(ReloadArgs(str(path), str(reference), "float32", builder="nets.collapsing")) < 1e-5


@pytest.mark.long
def test_a_worker_that_has_grown_is_replaced_and_its_successor_goes_on(own: Any) -> None:
    made = own(max_worker_growth_mb=0.001)
    first = made.train(people.candidate(), seed=1)
    pid = made.pid
    assert not psutil.pid_exists(pid)
    second = made.train(people.candidate(), seed=1)
    assert (first.worker, second.worker) == (1, 2)
    assert second.metric == first.metric
    assert [number for number, _, _ in made.workers] == [1, 2]


def test_a_failed_trial_is_told_and_the_next_worker_sees_the_same_data_or_none(own: Any, folder: Path) -> None:
    people.write_arrays(folder / "changing.npz")
    made = own(build="nets.raising", npz=folder / "changing.npz")
    facts = made.executor.load_data()
    with pytest.raises(TrialFault) as caught:
        made.train(people.candidate())
    assert (caught.value.kind, caught.value.message) == (
        FailureKind.INVALID,
        "the builder nets.raising failed: KeyError: 'no such block'",
    )
    assert 'nets.py", line' in (folder / "worker.log").read_text(encoding="utf-8")  # where, for its author
    assert not psutil.pid_exists(made.pid)
    assert made.executor.load_data() == facts
    made.executor.replace()
    people.write_arrays(folder / "changing.npz", seed=1)
    with pytest.raises(TrialFault, match="changed while the study ran"):
        made.executor.load_data()


LONELY = '''
"""A model that needs so much memory that no other fits beside it, and one that fits nowhere."""

import weakref

import nets

alive = weakref.WeakSet()


def mlp(*, widths, input_shape, num_classes):
    if alive:
        raise MemoryError("beside another")
    model = nets.mlp(widths=widths, input_shape=input_shape, num_classes=num_classes)
    alive.add(model)
    return model


def too_large(*, widths, input_shape, num_classes):
    raise MemoryError("by itself")
'''


@pytest.mark.long
def test_models_that_do_not_fit_together_are_timed_apart(own: Any, folder: Path) -> None:
    (folder / "lonely.py").write_text(LONELY, encoding="utf-8")
    made = own(build="lonely.mlp")
    timing = made.config.search.timing
    timing.rounds = 2
    candidate = people.candidate("mixed_bfloat16")
    probe = made.probe(candidate)
    assert probe.apart_pairs == (timing.min_pairs,) * 2
    assert len(probe.block_step_ms) == len(probe.baseline_step_ms) == 2 * timing.min_pairs
    assert probe.candidate == candidate
    assert {layer.compute_dtype for layer in probe.effect.layers} == {"bfloat16", "float32"}
    # One worker that was too small for both, then candidate, baseline, baseline, candidate; never two at once.
    assert (probe.worker, len(made.workers)) == (5, 5)
    assert [facts.pid for _, facts, _ in made.workers if psutil.pid_exists(facts.pid)] == [made.pid]


@pytest.mark.long
def test_a_candidate_that_does_not_fit_alone_has_run_out_of_memory(own: Any, folder: Path) -> None:
    (folder / "lonely.py").write_text(LONELY, encoding="utf-8")
    made = own(build="lonely.too_large")
    with pytest.raises(TrialFault, match="by itself") as caught:
        made.probe(people.candidate())
    assert caught.value.kind is FailureKind.OOM
    assert len(made.workers) == 2


def test_a_mistake_that_only_the_worker_sees_is_raised_before_anything_is_measured(own: Any) -> None:
    made = own(build="nets.without_num_classes")
    with pytest.raises(ConfigError, match="num_classes"):
        made.executor.start()
    assert made.workers == []


def test_data_that_cannot_be_had_is_told_without_the_framework(own: Any, folder: Path) -> None:
    made = own(npz=folder / "absent.npz")
    with pytest.raises(DataError, match="there is none at"):
        made.executor.start()
