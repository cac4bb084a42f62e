"""`objective=...`: what is made as large as possible."""

import enum
from dataclasses import dataclass


class Objective(enum.Enum):
    """What the search maximises under the accuracy constraint."""

    throughput = "throughput"


@dataclass
class ObjectiveConfig:
    """The objective.

    Attributes:
        name: throughput [examples/s].
        threshold: the speedup whose lower confidence bound counts as FASTER.
    """

    name: Objective = Objective.throughput
    threshold: float = 1.02

    def __post_init__(self) -> None:
        from autotune.config.checks import require

        require(self.threshold >= 1, "objective.threshold must be at least 1", self.threshold)
