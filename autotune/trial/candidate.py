"""What is asked: candidates, and the space that they come from."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class Xla(enum.StrEnum):
    """What is asked of `compile(jit_compile=...)`."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Policy:
    """A Keras dtype policy: one object all the way to the worker, so that it can grow into a map of layers."""

    name: str

    @property
    def is_float32(self) -> bool:
        """Whether nothing is reduced."""
        return self.name == "float32"

    @property
    def compute_dtype(self) -> str:
        """The dtype that layers are asked to compute in."""
        return self.name.removeprefix("mixed_")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Candidate:
    """One point of the search space.

    Attributes:
        policy: the dtype policy.
        batch_size: examples per optimizer step.
        xla: what to ask of XLA; `AUTO` is the baseline's (Keras then decides).
        widths: layer widths handed to the model's builder, in its order.
        steps_per_execution: optimizer steps in one call of the compiled train function.
    """

    policy: Policy
    batch_size: int
    xla: Xla
    widths: tuple[int, ...]
    steps_per_execution: int = 1

    def __str__(self) -> str:
        widths = "-".join(map(str, self.widths)) or "none"
        return (
            f"{self.policy} batch={self.batch_size} xla={self.xla.value} widths={widths}"
            f" steps_per_execution={self.steps_per_execution}"
        )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of the space that is not searched, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class SpaceSummary:
    """The space, for a reader: choices per dimension, how many candidates, what was left out and why."""

    policies: tuple[str, ...]
    batch_sizes: tuple[int, ...]
    xla: tuple[str, ...]
    steps_per_execution: tuple[int, ...]
    widths: tuple[tuple[int, ...], ...]
    size: int
    left_out: tuple[LeftOut, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a profile's published peaks let expect of a candidate [ms per step]; nothing was measured."""

    candidate: Candidate
    step_time_ms: float

    @property
    def examples_per_s(self) -> float:
        """Expected throughput [examples/s]."""
        return self.candidate.batch_size / self.step_time_ms * 1e3
