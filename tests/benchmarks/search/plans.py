"""What `make landscape` measures of each model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from autotune.config.schema import Config

TURNS = 2
FURTHER = 10
PAIRS = 20
_LONGEST_S = 20.0
SEEDS = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured of a model.

    Attributes:
        overrides: of the study that this is a landscape of; all that its space could take from the device is in them.
        minutes: after which no further turn or seed begins.
        further: turns at most that time only those that may be near to the best, until they are told apart.
    """

    overrides: tuple[str, ...]
    minutes: float
    turns: int = TURNS
    seeds: int = SEEDS
    evaluations: int = 6
    further: int = FURTHER


PLANS = {
    "cifar_mlp": Plan(
        (
            "train.examples=1024",
            "train.epochs=6",
            # Of the two aligned widths the nearer one: it halves the grid's third dimension.
            "model.width_bounds=[[3000,3200],[1000,1010]]",
        ),
        25.0,
    ),
    # A CPU without bfloat16 takes eight times as long for convolutions in it, and up to four minutes for one timing.
    "cifar_cnn": Plan(("train.examples=1024", "train.epochs=6", "search.policies=[float32]"), 40.0),
    "digits_mlp": Plan(("train.examples=1024", "train.epochs=30"), 10.0, evaluations=10),
}


def timed_evenly(config: Config) -> Config:
    """So many pairs of every candidate, whatever they agree upon; no pipeline."""
    even = {"min_pairs": PAIRS, "max_pairs": PAIRS, "screen_max_s": _LONGEST_S, "max_s": _LONGEST_S}
    timing = replace(config.search.timing, **even, pipeline=False)
    return replace(config, search=replace(config.search, timing=timing))
