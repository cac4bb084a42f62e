"""Predicted training steps on a target, each with an error band. Nothing here was timed on it.

A step is the host's part and then the device's: batches are made beside the device's work, but the device waits for
Python between two calls. The device's part is `costs`. The band spans what cannot be known without measuring: how fast
the host is, how much is fused, and which share of its peaks the device reaches.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from autotune.config.hardware import DeviceKind
from autotune.explain.costs import LayerCost, layer_costs
from autotune.hardware.profile import Profile
from autotune.trial.anatomy import Calibration, ModelAnatomy, StepAnatomy

# One call of Keras's train function beside the step itself: 24.1 - 22.0 ms measured with 1 and 8 steps a call.
_CALL_MS = 2.0

# Handing one kernel to a GPU; CUDA's documentation and TensorFlow's profiler show 3 to 10 us.
_OPERATION_US = 6.0

# The one public run of this kind: the CIFAR MLP 3072-3000-1000-10 on an RTX 2080, batch 32, 50 epochs of 1,563 steps in
# 501 s. Its step has 60 kernels, and this module gives it 1.6 ms on the device; the rest was the host's.
_PUBLIC_STEP_MS = 501e3 / (50 * 1563)
_PUBLIC_DEVICE_MS = 1.6
_PUBLIC_KERNELS = 60

# What remains of a step's operations when XLA has fused them. An assumption: its clusters differ.
FUSED_OPERATIONS = 0.3

# Two policies do not have quite the same host's part.
_HOST_DIFFERS = 0.1


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


PUBLISHED_HOST = Host(
    _CALL_MS,
    _PUBLIC_STEP_MS - _PUBLIC_DEVICE_MS - _CALL_MS - _PUBLIC_KERNELS * _OPERATION_US / 1e3,
    _OPERATION_US,
    "the one public run of this kind (CIFAR MLP on an RTX 2080, 6.4 ms a step)",
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way things may be: a factor on the host's part, the share of its peaks that the device reaches, fusion."""

    host: float
    efficiency: float
    fused: bool


TYPICAL = Scenario(1.0, 0.7, fused=False)

# A modern host is about three times as fast as the one of the public run.
_CORNERS = tuple(
    Scenario(host, efficiency, fused)
    for host, efficiency, fused in itertools.product((0.3, 1.3), (0.35, 1.0), (False, True))
)


@dataclass(frozen=True, slots=True)
class Setting:
    """What is predicted: a candidate without its widths."""

    policy: str
    batch_size: int
    xla: bool = False
    steps_per_execution: int = 1

    def __str__(self) -> str:
        return f"{self.policy}, batch {self.batch_size}, XLA {'on' if self.xla else 'off'}" + (
            f", {self.steps_per_execution} steps a call" if self.steps_per_execution > 1 else ""
        )


@dataclass(frozen=True, slots=True)
class Forecast:
    """A predicted step [ms].

    Attributes:
        call_ms, kernels_ms, input_ms: the host's part: calls, handing out kernels, all else.
        device_ms: the device's part, `optimizer_ms` of it the optimizer and what else no layer does.
        by_scenario: host's and device's part in each scenario, in one order for all settings.
        layers: each layer's cost at full rates.
    """

    setting: Setting
    call_ms: float
    kernels_ms: float
    input_ms: float
    device_ms: float
    optimizer_ms: float
    by_scenario: tuple[tuple[float, float], ...]
    layers: tuple[LayerCost, ...]

    @property
    def host_ms(self) -> float:
        """The host's part."""
        return self.call_ms + self.kernels_ms + self.input_ms

    @property
    def step_ms(self) -> float:
        """All of it."""
        return self.host_ms + self.device_ms

    @property
    def band_ms(self) -> tuple[float, float]:
        """The fastest and the slowest scenario."""
        steps = [host + device for host, device in self.by_scenario]
        return min(steps), max(steps)

    @property
    def examples_per_s(self) -> float:
        """Throughput."""
        return self.setting.batch_size / self.step_ms * 1e3

    @property
    def bound(self) -> str:
        """`host`, or `compute` or `memory` where the device's part is the larger: what a step waits for most."""
        if self.host_ms >= self.device_ms:
            return "host"
        in_time = [cost for cost in self.layers if cost.time_ms]
        compute = sum(cost.time_ms or 0.0 for cost in in_time if cost.bound == "compute")
        return "compute" if compute > sum(cost.time_ms or 0.0 for cost in in_time) / 2 else "memory"


@dataclass(frozen=True, slots=True)
class Gain:
    """Predicted throughput over another setting's: the typical ratio, and its band."""

    ratio: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.ratio:.2f}x [{self.low:.2f}, {self.high:.2f}]"


def gain(faster: Forecast, reference: Forecast) -> Gain:
    """Of one setting over another; in each scenario both are in the same surroundings."""
    more = faster.setting.batch_size / reference.setting.batch_size
    ratios = []
    for (host, device), (own_host, own_device) in zip(reference.by_scenario, faster.by_scenario, strict=True):
        for differs in (1 - _HOST_DIFFERS, 1.0, 1 + _HOST_DIFFERS):
            factor = differs if faster.setting.policy != reference.setting.policy else 1.0
            ratios.append(more * (host + device) / (own_host * factor + own_device))
    return Gain(more * reference.step_ms / faster.step_ms, min(ratios), max(ratios))


@dataclass(frozen=True, slots=True)
class Forecaster:
    """Predicts steps of one model on one target.

    Args:
        facts: the model's.
        target: with the rates to divide by.
        host: that feeds it.
    """

    facts: ModelAnatomy
    target: Profile
    host: Host = PUBLISHED_HOST

    def forecast(self, setting: Setting) -> Forecast | None:
        """The step, or None where the target's rates or the model under that policy are not known."""
        step = self.step_of(setting.policy)
        if step is None or self.target.bandwidth_gb_s is None or not self.knows_xla(on=setting.xla):
            return None
        slots = self.facts.variables_per_weight
        costs, fused = (
            layer_costs(step, self.target, setting.batch_size, fused=flag, slots=slots) for flag in (setting.xla, True)
        )
        if any(cost.time_ms is None for cost in costs):
            return None
        kernels = step.operations * (FUSED_OPERATIONS if setting.xla else 1.0)
        call_ms = self.host.call_ms / setting.steps_per_execution
        kernels_ms = kernels * self.host.operation_us / 1e3
        input_ms = self.host.input_ms(setting.batch_size)
        host_ms = call_ms + kernels_ms + input_ms
        outside = step.layers[-1].name
        return Forecast(
            setting,
            call_ms,
            kernels_ms,
            input_ms,
            _sum(costs) / TYPICAL.efficiency,
            sum(cost.time_ms or 0.0 for cost in costs if cost.name == outside) / TYPICAL.efficiency,
            tuple(
                (host_ms * corner.host, _sum(fused if corner.fused else costs) / corner.efficiency)
                for corner in _CORNERS
            ),
            costs,
        )

    def knows_xla(self, *, on: bool) -> bool:
        """On a CPU, XLA replaces the vendor's kernels by its own, which no published rate tells of.

        Keras leaves it out for the whole model where a layer refuses it.
        """
        compiles = all(layer.compiles for layer in self.facts.float32.layers)
        return not on or (compiles and self.target.kind is not DeviceKind.cpu)

    def step_of(self, policy: str) -> StepAnatomy | None:
        """The traced step of a policy: that of the other 16-bit dtype has the same operations, but for loss scaling."""
        if policy == "float32":
            return self.facts.float32
        reduced = self.facts.reduced
        if reduced is None or reduced.policy == policy:
            return reduced
        return _renamed(reduced, self.facts.float32, policy)


def calibrated(
    target: Profile, calibration: Calibration, feed_ms: float | None, batch_size: int
) -> tuple[Profile, Host]:
    """The device here with the rates that were measured on it, and its own host, which makes a batch in `feed_ms`."""
    peaks = tuple(sorted(calibration.tflops.items()))
    measured = replace(
        target,
        peaks=peaks,
        bandwidth_gb_s=calibration.bandwidth_gb_s,
        flop_per_clock_per_core=(),
        source=f"measured here: {', '.join(f'{rate * 1e3:.3g} GFLOP/s in {dtype}' for dtype, rate in peaks)},"
        f" {calibration.bandwidth_gb_s:.3g} GB/s; others who use this machine lower them",
    )
    host = Host(calibration.call_ms, feed_ms or 0.0, calibration.operation_us, "a measurement here", batch_size)
    return measured, host


def settings(policies: Iterable[str], batch_sizes: Iterable[int], *, xla: Iterable[bool]) -> tuple[Setting, ...]:
    """Every combination, at one step a call."""
    return tuple(Setting(*each) for each in itertools.product(policies, batch_sizes, xla))


def _sum(costs: tuple[LayerCost, ...]) -> float:
    return sum(cost.time_ms or 0.0 for cost in costs)


def _renamed(step: StepAnatomy, float32: StepAnatomy, policy: str) -> StepAnatomy:
    was, now = step.policy.removeprefix("mixed_"), policy.removeprefix("mixed_")
    layers = [
        replace(
            layer,
            output_dtype=now if layer.output_dtype == was else layer.output_dtype,
            products=tuple(
                replace(product, dtype=now) if product.dtype == was else product for product in layer.products
            ),
        )
        for layer in step.layers
    ]
    return replace(step, policy=policy, layers=(*layers[:-1], float32.layers[-1]))
