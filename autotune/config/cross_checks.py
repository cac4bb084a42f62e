"""Rules that span groups of the configuration and need neither data nor device."""

from __future__ import annotations

from autotune.config.checks import require
from autotune.config.schema import Config


def check(config: Config) -> None:
    """Raise on a combination that cannot work.

    Raises:
        ConfigError: one line that names both keys.
    """
    _check_batches(config)
    _check_widths(config)


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
