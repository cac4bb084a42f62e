"""Rules that span groups of the configuration and need neither data nor device."""

from __future__ import annotations

from importlib.util import find_spec

from autotune.config.checks import require
from autotune.config.objective import Objective
from autotune.config.schema import Config
from autotune.config.search import Sampler
from autotune.errors import ConfigError


def check(config: Config) -> None:
    """Raise on a combination that cannot work.

    Raises:
        ConfigError: one line that names both keys.
    """
    _check_batches(config)
    _check_widths(config)
    _check_accumulation(config)
    if config.task.searches:  # an exported configuration has the study's sampler, and is trained where it may be absent
        _check_sampler(config)
    _check_tf32(config)
    _check_fallback(config)


def _check_batches(config: Config) -> None:
    """A batch larger than an epoch would leave no full batch to train on."""
    examples = config.train.examples
    if examples is None:
        return
    for key, batch in (
        ("train.batch_size", config.train.batch_size),
        ("candidate.batch_size", config.candidate.batch_size or 1),
        ("search.batch_sizes", max(config.search.batch_sizes or [1])),
    ):
        require(
            batch <= examples,
            f"{key} must not exceed train.examples ({examples})",
            batch,
            "make the batch smaller or train.examples larger",
        )


def _check_accumulation(config: Config) -> None:
    """Micro-batches are all of one size."""
    batch, parts = config.candidate.batch_size or config.train.batch_size, config.candidate.accumulation
    require(
        batch % parts == 0,
        f"candidate.accumulation must divide the batch ({batch})",
        parts,
        "set candidate.batch_size to a multiple of it",
    )


def _check_widths(config: Config) -> None:
    """The user's own widths are candidates themselves, so they lie within their bounds."""
    model = config.model
    for width, (lowest, highest) in zip(model.widths, model.width_bounds, strict=False):
        require(
            lowest <= width <= highest,
            f"model.widths must lie within model.width_bounds ({model.width_bounds})",
            model.widths,
            "set model.width_bounds too, or to [] to search no widths",
        )
    widths = config.candidate.widths
    require(
        widths is None or len(widths) == len(model.widths),
        f"candidate.widths must have as many entries as model.widths ({len(model.widths)})",
        widths,
    )


def _check_sampler(config: Config) -> None:
    """Optuna imports what a Gaussian process needs only once it is asked, after the baseline was measured."""
    missing = [name for name in ("torch", "scipy") if find_spec(name) is None]
    if config.search.sampler is Sampler.gp and missing:
        packages = " ".join(missing)
        raise ConfigError(
            f"search.sampler=gp needs the package {' and '.join(missing)}, which is not installed: pip install"
            f" {packages} (its build for CPUs is enough), or take search.sampler=auto"
        )


def _check_tf32(config: Config) -> None:
    """Trainings that are timed against one another are neighbours in one process, which holds to one setting."""
    if config.search.tf32 and config.objective.name is Objective.time_to_accuracy:
        raise ConfigError(
            "search.tf32 cannot be searched with objective=time_to_accuracy, which compares trainings of one process,"
            " and TF32 is set for a whole one; use objective=throughput, or set train.tf32"
        )


def _check_fallback(config: Config) -> None:
    """Of a front every candidate is trained, and none is tried again in place of another."""
    require(
        not config.search.fallback or config.objective.name is not Objective.pareto,
        "search.fallback looks for one winner and objective=pareto for a front",
        config.search.fallback,
        "set search.fallback=false, or objective=throughput",
    )
