"""What is asked: candidates, and the space that they come from."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class Xla(enum.StrEnum):
    """What is asked of `compile(jit_compile=...)`."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class Pipeline(enum.StrEnum):
    """Where batches are put together: on the host, or on the device that holds the training arrays."""

    HOST = "host"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Policy:
    """A Keras dtype policy, and the layers that it leaves in float32: one object all the way to the worker.

    Attributes:
        name: what Keras calls the policy of all other layers.
        float32_layers: paths in the model of the layers that compute in float32 all the same.
    """

    name: str
    float32_layers: tuple[str, ...] = ()

    @property
    def is_float32(self) -> bool:
        """Whether nothing is reduced."""
        return self.name == "float32"

    @property
    def compute_dtype(self) -> str:
        """The dtype that layers are asked to compute in."""
        return self.name.removeprefix("mixed_")

    def __str__(self) -> str:
        return f"{self.name} (float32: {', '.join(self.float32_layers)})" if self.float32_layers else self.name


@dataclass(frozen=True, slots=True)
class Candidate:
    """One point of the search space.

    Attributes:
        policy: the dtype policy.
        batch_size: examples per optimizer step, whatever the accumulation.
        xla: what to ask of XLA; `AUTO` is the baseline's (Keras then decides).
        widths: layer widths handed to the model's builder, in its order.
        steps_per_execution: optimizer steps in one call of the compiled train function.
        accumulation: micro-batches whose mean gradient makes one optimizer step; it divides the batch.
        tf32: whether float32 matrix products may run in TF32; `None` leaves it to TensorFlow, which lets them.
        pipeline: where its batches are put together.
    """

    policy: Policy
    batch_size: int
    xla: Xla
    widths: tuple[int, ...]
    steps_per_execution: int = 1
    accumulation: int = 1
    tf32: bool | None = None
    pipeline: Pipeline = Pipeline.HOST

    @property
    def micro_batch(self) -> int:
        """Examples that are on the device at once."""
        return self.batch_size // self.accumulation

    @property
    def further(self) -> dict[str, str]:
        """The settings that are not searched by default, by name, as far as they are not what Keras does by itself."""
        told = {
            "accumulation": "" if self.accumulation == 1 else str(self.accumulation),
            "tf32": "" if self.tf32 is None else "on" if self.tf32 else "off",
            "pipeline": "" if self.pipeline is Pipeline.HOST else self.pipeline.value,
        }
        return {name: value for name, value in told.items() if value}

    @property
    def short(self) -> str:
        """As a failed candidate is named where others are ruled out for it: without widths and steps per execution."""
        further = "".join(f", {name} {value}" for name, value in self.further.items())
        return f"{self.policy}, XLA {self.xla.value}, batch {self.batch_size}{further}"

    def __str__(self) -> str:
        widths = "-".join(map(str, self.widths)) or "none"
        return (
            f"{self.policy} batch={self.batch_size} xla={self.xla.value} widths={widths}"
            f" steps_per_execution={self.steps_per_execution}"
            + "".join(f" {name}={value}" for name, value in self.further.items())
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
    accumulation: tuple[int, ...] = (1,)
    tf32: tuple[bool | None, ...] = (None,)
    pipeline: tuple[str, ...] = (Pipeline.HOST.value,)


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a profile's published peaks let expect of a candidate [ms per step]; nothing was measured."""

    candidate: Candidate
    step_time_ms: float

    @property
    def examples_per_s(self) -> float:
        """Expected throughput [examples/s]."""
        return self.candidate.batch_size / self.step_time_ms * 1e3
