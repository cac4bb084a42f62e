"""The objective as a reader wants it: what it is called, its unit, and what its ratio to float32's means."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.record.view import StudyView
from autotune.trial import TimingVerdict


@dataclass(frozen=True, slots=True)
class Goal:
    """What the search made as good as possible. Its gain is a ratio to float32's, above 1 is better.

    Attributes:
        name: as the configuration calls it.
        label: for the head of a row or a column.
        quantity: what was measured, with its unit.
        unit: of the quantity.
        claim: what a gain says, with a place for it.
        is_speed: whether better means faster, as the verdicts' words have it.
    """

    name: str
    label: str
    quantity: str
    unit: str
    claim: str
    is_speed: bool

    @classmethod
    def of(cls, view: StudyView) -> Goal:
        """The objective of a study; throughput where it is not told."""
        config = view.started.config if view.started is not None else {}
        return _GOALS.get(config.get("objective", {}).get("name", ""), _GOALS["throughput"])

    @property
    def is_throughput(self) -> bool:
        """Whether the gain is the speedup."""
        return self.name in ("throughput", "pareto")

    @property
    def is_front(self) -> bool:
        """Whether the whole front of throughput against the metric was looked for."""
        return self.name == "pareto"

    def word(self, verdict: TimingVerdict) -> str:
        """The verdict on a gain; less memory or energy is better, and not faster."""
        return verdict.value if self.is_speed else _NOT_OF_TIME.get(verdict, verdict.value)


_NOT_OF_TIME = {TimingVerdict.FASTER: "BETTER", TimingVerdict.SLOWER: "WORSE"}

_GOALS = {
    goal.name: goal
    for goal in (
        Goal("throughput", "speed", "throughput", "examples/s", "{:.2f} times as fast as float32", True),
        Goal("pareto", "speed", "throughput", "examples/s", "{:.2f} times as fast as float32", True),
        Goal(
            "time_to_accuracy",
            "time to accuracy",
            "training time to float32's accuracy",
            "s",
            "{:.2f} times as fast as float32 to its accuracy",
            True,
        ),
        Goal("energy", "energy", "energy", "J/example", "{:.2f} times as many examples per joule as float32", False),
        Goal("memory", "memory", "peak memory", "MB", "1/{:.2f} of float32's peak memory", False),
    )
}
