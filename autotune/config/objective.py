"""`objective=...`: what is made as large as possible."""

import enum
from dataclasses import dataclass


class Objective(enum.Enum):
    """What the search maximises under the accuracy constraint; each as a ratio to the baseline, above 1 is better.

    `pareto` is after the whole front of throughput against the metric; its winner is that of `throughput`.
    """

    throughput = "throughput"
    time_to_accuracy = "time_to_accuracy"
    energy = "energy"
    memory = "memory"
    pareto = "pareto"

    @property
    def is_of_throughput(self) -> bool:
        """Whether candidates are ranked by their speedup alone."""
        return self in (Objective.throughput, Objective.pareto)


@dataclass
class ObjectiveConfig:
    """The objective.

    Attributes:
        name: throughput [examples/s]; time_to_accuracy: training time until float32's accuracy, less the margin, is
            reached [s]; energy [J/example], where NVML counts it; memory: peak [MB], where the device reports it;
            pareto: throughput against the constraint's metric, the whole front beside one winner.
        threshold: the gain whose lower confidence bound counts as better than the baseline.
        tie: finalists whose throughput differs by less than this factor are told apart by simplicity.
    """

    name: Objective = Objective.throughput
    threshold: float = 1.02
    tie: float = 1.02

    def __post_init__(self) -> None:
        from autotune.config.checks import require

        require(self.threshold >= 1, "objective.threshold must be at least 1", self.threshold)
        require(self.tie >= 1, "objective.tie must be at least 1", self.tie)
