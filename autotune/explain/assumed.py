"""What is assumed about host and device where no step was timed: the host's part, and how far either may be off.

Both for published rates, and for rates that were measured on the machine itself.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

# One call of Keras's train function beside the step itself: 24.1 - 22.0 ms measured with 1 and 8 steps a call.
_CALL_MS = 2.0

# Handing one kernel to a GPU; CUDA's documentation and TensorFlow's profiler show 3 to 10 us.
_OPERATION_US = 6.0

# The one public run of this kind: the CIFAR MLP 3072-3000-1000-10 on an RTX 2080, batch 32, 50 epochs of 1,563 steps in
# 501 s. Its step has 60 kernels, and this module gives it 1.6 ms on the device; the rest was the host's.
_PUBLIC_STEP_MS = 501e3 / (50 * 1563)
_PUBLIC_DEVICE_MS = 1.6
_PUBLIC_KERNELS = 60

# Handing over one batch, whatever its size: 0.2 to 0.6 ms measured for 1 to 128 examples of 64 numbers on two cores.
_BATCH_MS = 0.5


@dataclass(frozen=True, slots=True)
class Host:
    """The host's part of a step.

    Attributes:
        call_ms: of one call of the train function, whatever the number of its steps [ms].
        step_ms: of one step besides, such as the input pipeline [ms].
        batch_size: that `step_ms` is of and grows with; None where it does not, or nobody knows.
        operation_us: of one kernel [microseconds].
        source: where these are from.
    """

    call_ms: float
    step_ms: float
    operation_us: float
    source: str
    batch_size: int | None = None

    def input_ms(self, batch_size: int) -> float:
        """`step_ms` for a batch of that size."""
        return self.step_ms * (1.0 if self.batch_size is None else batch_size / self.batch_size)


def batch_ms(measured_ms: float, ratio: float) -> float:
    """Time of making a batch `ratio` times as large as one that took `measured_ms` [ms]: its examples' part grows."""
    fixed = min(measured_ms, _BATCH_MS)
    return fixed + (measured_ms - fixed) * ratio


PUBLISHED_HOST = Host(
    _CALL_MS,
    _PUBLIC_STEP_MS - _PUBLIC_DEVICE_MS - _CALL_MS - _PUBLIC_KERNELS * _OPERATION_US / 1e3,
    _OPERATION_US,
    "the one public run of this kind (CIFAR MLP on an RTX 2080, 6.4 ms a step)",
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What cannot be known without timing a step.

    Attributes:
        host: lowest and highest factor on the host's part.
        efficiency: share of its rates that the device typically reaches.
        reached: lowest and highest share.
    """

    host: tuple[float, float]
    efficiency: float
    reached: tuple[float, float]

    @property
    def corners(self) -> tuple[tuple[float, float, bool], ...]:
        """Factor on the host's part, share of the rates, and whether everything is fused: all extremes together."""
        return tuple(itertools.product(self.host, self.reached, (False, True)))

    def __str__(self) -> str:
        low, high = (f"{share:.0%}".replace("%", " %") for share in self.reached)
        return (
            f"the band lets the host's part be {self.host[0]:g} to {self.host[1]:g} times that, and the device reach"
            f" {low} to {high} of its rates (typical: {self.efficiency * 100:.0f} %), products less by tile and wave"
            " efficiency"
        )


# A modern host is about three times as fast as the one of the public run.
PUBLISHED = Surroundings(host=(0.3, 1.3), efficiency=0.7, reached=(0.35, 1.0))

# Rates that TensorFlow itself reached here, which steps may exceed where others used the machine meanwhile.
MEASURED = Surroundings(host=(0.5, 2.0), efficiency=0.9, reached=(0.5, 1.3))

# A result as large as that is not written where an earlier one was: the C library asks the system for new memory, whose
# pages are handed out one by one as they are written (glibc's DEFAULT_MMAP_THRESHOLD_MAX).
LARGE_BYTES = 32 * 2**20
