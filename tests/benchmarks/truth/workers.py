"""Fresh workers of the product, on a model so small that hundreds of comparisons are affordable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from autotune.config.schema import Config
from autotune.space.build import own_widths
from autotune.space.recipe import Fidelity, recipe_for
from autotune.trial import Candidate, DatasetFacts, Policy, Probe, Recipe, Stage, WorkerFacts, Xla
from autotune.trust import trusting
from autotune.worker.executor import LocalExecutor

REPOSITORY = Path(__file__).resolve().parents[3]


def configured(overrides: Sequence[str]) -> Config:
    """The configuration that `python -m autotune` runs with."""
    from hydra import compose, initialize_config_module

    from autotune.config.compose import load, register_schema

    register_schema()
    with initialize_config_module("autotune.conf", version_base="1.3"):
        return load(compose("config", list(overrides)), REPOSITORY)


def small(*overrides: str) -> Config:
    """The digits perceptron of 64 units a layer at batch 32: a step takes about a millisecond on two CPU cores."""
    fixed = (
        "model=digits_mlp",
        "model.widths=[64,64]",
        "model.width_bounds=[]",
        "model.widths_without_accelerator=null",
    )
    return configured((*fixed, "train=sgd", "train.schedule=constant", "search.timing.pipeline=false", *overrides))


@dataclass(frozen=True)
class Worker:
    """One fresh process that compares a candidate with a baseline, as screening and confirmation do.

    Attributes:
        accelerator: where TensorFlow places a model.
        versions: of the packages that the process has loaded.
    """

    config: Config
    executor: LocalExecutor
    data: DatasetFacts
    accelerator: str
    versions: dict[str, str]

    def candidate(self, widths: Sequence[int] = (), *, again: int = 0) -> Candidate:
        """The user's own settings, or the same with other widths.

        Args:
            widths: by default the user's own.
            again: counts models. The worker keeps its reference as long as the next one is equal, so that an odd and an
                even one differ in name: XLA `off` is what `auto` is without an accelerator.
        """
        xla = Xla.OFF if again % 2 and self.accelerator == "CPU" else Xla.AUTO
        chosen = tuple(widths) or own_widths(self.config, self.accelerator)
        return Candidate(Policy("float32"), self.config.train.batch_size, xla, chosen)

    def recipe(self, candidate: Candidate) -> Recipe:
        """One pass over the data."""
        return recipe_for(self.config.train, candidate, Fidelity(self.data.train, 1))

    def probe(self, candidate: Candidate, reference: Candidate | None, stage: Stage) -> Probe:
        """Time a candidate, in blocks that alternate with the reference's if there is one."""
        against = None if reference is None else (reference, self.recipe(reference))
        return self.executor.probe(candidate, self.recipe(candidate), against, stage)


@contextmanager
def fresh_worker(config: Config, folder: Path) -> Iterator[Worker]:
    """A process of its own, ended whatever happens; what it prints is in `worker.log`."""
    ready: list[tuple[WorkerFacts, DatasetFacts]] = []
    unlimited = replace(config, search=replace(config.search, max_worker_growth_mb=1e9))  # never silently a second one
    executor = LocalExecutor(unlimited, folder / "worker.log", None, lambda _, facts, data: ready.append((facts, data)))
    with trusting(["tests.benchmarks"]):
        try:
            executor.start()
            facts, data = ready[0]
            yield Worker(config, executor, data, facts.accelerator, facts.versions)
        finally:
            executor.close()
