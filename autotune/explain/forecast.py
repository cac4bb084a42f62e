"""Predicted training steps on a target, each with an error band. Nothing here was timed on it.

A step is the host's part and then the device's: batches are made beside the device's work, but the device waits for
Python between two calls. The device's part is `costs`. The band spans what cannot be known without measuring: how fast
the host is, how much is fused, and which share of its peaks the device reaches. No step is shorter than the making of
its batch, of which a time was measured on the host here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from autotune.config.hardware import DeviceKind
from autotune.explain.assumed import LARGE_BYTES, MEASURED, PUBLISHED, PUBLISHED_HOST, Host, Surroundings, batch_ms
from autotune.explain.costs import SIZES, LayerCost, layer_costs
from autotune.hardware.profile import Profile
from autotune.trial.anatomy import Calibration, LayerAnatomy, ModelAnatomy, StepAnatomy

# What remains of a step's operations when XLA has fused them. An assumption: its clusters differ.
FUSED_OPERATIONS = 0.3

# Two policies or batches do not have quite the same host's part, and two batches do not reach the same share of the
# rates: on a CPU a perceptron reached up to 1.4 times as much at 256 as at 32, a convolutional network less.
_HOST_DIFFERS = 0.1
_DEVICE_DIFFERS = 0.3


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
        call_ms, kernels_ms, input_ms, waiting_ms: the host's part: calls, handing out kernels, all else, and waiting
            for a batch that takes longer to be made than all of the step.
        device_ms: the device's part, `optimizer_ms` of it the optimizer and what else no layer does.
        by_scenario: host's and device's part in each scenario, in one order for all settings.
        layers: each layer's cost at full rates.
    """

    setting: Setting
    call_ms: float
    kernels_ms: float
    input_ms: float
    waiting_ms: float
    device_ms: float
    optimizer_ms: float
    by_scenario: tuple[tuple[float, float], ...]
    layers: tuple[LayerCost, ...]

    @property
    def host_ms(self) -> float:
        """The host's part."""
        return self.call_ms + self.kernels_ms + self.input_ms + self.waiting_ms

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
    """Of one setting over another; in each scenario both are in much the same surroundings."""
    more = faster.setting.batch_size / reference.setting.batch_size
    same_policy = faster.setting.policy == reference.setting.policy
    host_differs = _around_one(0.0 if same_policy and more == 1 else _HOST_DIFFERS)
    device_differs = _around_one(0.0 if more == 1 else _DEVICE_DIFFERS)
    ratios = [
        more * (host + device) / (own_host * on_host + own_device * on_device)
        for (host, device), (own_host, own_device) in zip(reference.by_scenario, faster.by_scenario, strict=True)
        for on_host, on_device in itertools.product(host_differs, device_differs)
    ]
    return Gain(more * reference.step_ms / faster.step_ms, min(ratios), max(ratios))


def _around_one(by: float) -> tuple[float, float]:
    return (1 - by, 1 + by)


@dataclass(frozen=True, slots=True)
class Forecaster:
    """Predicts steps of one model on one target.

    Args:
        facts: the model's.
        target: with the rates to divide by.
        host: that feeds it.
        surroundings: how far both may be off.
        new_memory_gb_s: bandwidth of results of `LARGE_BYTES` and more; None where it is as for the others.
    """

    facts: ModelAnatomy
    target: Profile
    host: Host = PUBLISHED_HOST
    surroundings: Surroundings = PUBLISHED
    new_memory_gb_s: float | None = None

    def forecast(self, setting: Setting) -> Forecast | None:
        """The step, or None where the target's rates or the model under that policy are not known."""
        step = self.step_of(setting.policy)
        if step is None or self.target.bandwidth_gb_s is None or not self.knows_xla(on=setting.xla):
            return None
        costs, fused = (self._costs(step, setting.batch_size, fused=flag) for flag in (setting.xla, True))
        if any(cost.time_ms is None for cost in costs):
            return None
        kernels = step.operations * (FUSED_OPERATIONS if setting.xla else 1.0)
        call_ms = self.host.call_ms / setting.steps_per_execution
        kernels_ms = kernels * self.host.operation_us / 1e3
        input_ms = self.host.input_ms(setting.batch_size)
        host_ms = call_ms + kernels_ms + input_ms
        efficiency = self.surroundings.efficiency
        device_ms = _sum(costs) / efficiency
        # A host whose pipeline was measured has it in its own part, which is as uncertain as the rest of that.
        least_ms = 0.0 if self.host.batch_size is not None else self.feed_ms(setting.batch_size) or 0.0
        corners = (
            (host_ms * factor, _sum(fused if all_fused else costs) / reached)
            for factor, reached, all_fused in self.surroundings.corners
        )
        return Forecast(
            setting,
            call_ms,
            kernels_ms,
            input_ms,
            max(0.0, least_ms - host_ms - device_ms),
            device_ms,
            (costs[-1].time_ms or 0.0) / efficiency,
            tuple((max(host, least_ms - device), device) for host, device in corners),
            costs,
        )

    def feed_ms(self, batch_size: int) -> float | None:
        """In which a host makes a batch of that size, by what was measured [ms]; None where nothing was."""
        if self.host.batch_size is not None:
            return self.host.input_ms(batch_size)
        measured_ms = self.facts.feed_ms
        return None if measured_ms is None else batch_ms(measured_ms, batch_size / self.facts.float32.batch_size)

    def _costs(self, step: StepAnatomy, batch_size: int, *, fused: bool) -> tuple[LayerCost, ...]:
        slots = self.facts.variables_per_weight
        costs = layer_costs(step, self.target, batch_size, fused=fused, slots=slots)
        if self.new_memory_gb_s is None or self.target.bandwidth_gb_s is None:
            return costs
        in_new = replace(self.target, bandwidth_gb_s=self.new_memory_gb_s)
        slower = layer_costs(step, in_new, batch_size, fused=fused, slots=slots)
        # A gradient of weights is written once; the rate is of bytes read and written.
        per_ms = 2 * (1 / self.new_memory_gb_s - 1 / self.target.bandwidth_gb_s) / 1e6
        ratio = batch_size / step.batch_size
        return tuple(
            slow if _output_bytes(layer, ratio) >= LARGE_BYTES else _later(cost, _large_gradient(layer) * per_ms)
            for layer, cost, slow in zip(step.layers, costs, slower, strict=True)
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
    facts: ModelAnatomy, target: Profile, calibration: Calibration, feed_ms: float | None, batch_size: int
) -> Forecaster:
    """For the device here, with the rates that were measured on it, and its own host.

    Args:
        facts: the model's.
        target: as published.
        calibration: of this host.
        feed_ms: in which the host makes a batch [ms]; None if it was not timed.
        batch_size: of that batch.
    """
    host = Host(calibration.call_ms, feed_ms or 0.0, calibration.operation_us, "a measurement here", batch_size)
    return Forecaster(facts, with_rates(target, calibration), host, MEASURED, calibration.new_memory_gb_s)


def with_rates(profile: Profile, calibration: Calibration) -> Profile:
    """A profile with the rates that were measured on that device, and none but those."""
    peaks = tuple(sorted(calibration.tflops.items()))
    slower = calibration.new_memory_gb_s
    new = "" if slower is None else f" ({slower:.3g} GB/s for results of {LARGE_BYTES >> 20} MiB and more)"
    return replace(
        profile,
        peaks=peaks,
        bandwidth_gb_s=calibration.bandwidth_gb_s,
        flop_per_clock_per_core=(),
        source=f"measured here: {', '.join(f'{rate * 1e3:.3g} GFLOP/s in {dtype}' for dtype, rate in peaks)},"
        f" {calibration.bandwidth_gb_s:.3g} GB/s{new}; others who use this machine lower them",
    )


def settings(policies: Iterable[str], batch_sizes: Iterable[int], *, xla: Iterable[bool]) -> tuple[Setting, ...]:
    """Every combination, at one step a call."""
    return tuple(Setting(*each) for each in itertools.product(policies, batch_sizes, xla))


def _sum(costs: tuple[LayerCost, ...]) -> float:
    return sum(cost.time_ms or 0.0 for cost in costs)


def _output_bytes(layer: LayerAnatomy, ratio: float) -> float:
    return SIZES.get(layer.output_dtype or "float32", 4) * math.prod(layer.output or (0,)) * ratio


def _large_gradient(layer: LayerAnatomy) -> int:
    """Bytes of the gradient of its weights, 0 where memory that is there will do."""
    size = SIZES["float32"] * layer.trainable
    return size if size >= LARGE_BYTES else 0


def _later(cost: LayerCost, by_ms: float) -> LayerCost:
    return cost if cost.time_ms is None else replace(cost, time_ms=cost.time_ms + by_ms)


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
