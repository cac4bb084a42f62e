"""What a predicted step waits for."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.config.hardware import DeviceKind
from autotune.explain.advice import LITTLE, batch_sizes
from autotune.explain.findings.registry import Found, Severity, kind
from autotune.explain.forecast import Setting
from autotune.explain.situation import Situation

_HALF = 0.5
_MUCH = 0.3
_LAUNCHES = 0.25
_TINY = 0.15


@kind("host-bound")
def host_bound(situation: Situation) -> Iterator[Found]:
    """A batch so small that the step is the host's."""
    own = situation.own()
    if own is None or own.host_ms / own.step_ms < _HALF:
        return
    largest = next(
        (
            size
            for size in batch_sizes(situation)
            if (found := situation.forecaster.forecast(Setting("float32", size))) is not None
            and found.host_ms / found.step_ms < _HALF / 2
        ),
        batch_sizes(situation)[-1],
    )
    gained = situation.over_own(Setting("float32", largest))
    low, high = own.band_ms
    yield (
        Severity.WARNING,
        "",
        f"a batch of {situation.batch_size} keeps {situation.target.title} busy for {own.device_ms:.2g} of a predicted"
        f" {own.step_ms:.3g} ms step [{low:.2g}, {high:.2g}]; the rest is the host's, whatever the precision"
        + (f"; batch {largest} is predicted at {gained} the throughput" if gained and gained.ratio > LITTLE else ""),
        " ".join(
            [
                *([f"train.batch_size={largest}"] if largest > situation.batch_size else []),
                "search.steps_per_execution=[8]",
                *(["search.xla=[true]"] if _offers_xla(situation) else []),
            ]
        ),
    )


@kind("steps-per-call")
def steps_per_call(situation: Situation) -> Iterator[Found]:
    """Steps so short that calling the train function is a good part of them."""
    own, more = situation.own(), situation.over_own(Setting("float32", situation.batch_size, steps_per_execution=8))
    asked = situation.config.candidate.steps_per_execution
    if own is None or more is None or own.call_ms / own.step_ms < _TINY or asked > 1:
        return
    yield (
        Severity.HINT,
        "",
        f"one call of the train function takes {own.call_ms:.2g} of a predicted {own.step_ms:.3g} ms step: eight steps"
        f" a call are predicted at {more}",
        "search.steps_per_execution=[1,8] (compile(steps_per_execution=8) in your own script)",
    )


@kind("many-small-kernels")
def many_small_kernels(situation: Situation) -> Iterator[Found]:
    """So many operations that handing them out takes a good part of the step."""
    own = situation.own()
    if own is None or own.kernels_ms / own.step_ms < _LAUNCHES or situation.target.kind is DeviceKind.tpu:
        return
    fused = situation.over_own(Setting("float32", situation.batch_size, xla=True))
    yield (
        Severity.HINT,
        "",
        f"a step has {situation.facts.float32.operations:,} operations, and handing them to the device takes"
        f" {own.kernels_ms:.2g} of a predicted {own.step_ms:.3g} ms"
        + (f"; fused by XLA it is predicted at {fused}" if fused else ""),
        "search.xla=[true]" if _offers_xla(situation) else _larger_batch(situation),
    )


@kind("memory-bound")
def memory_bound(situation: Situation) -> Iterator[Found]:
    """A device's part that bandwidth bounds: 16 bit halves bytes at most."""
    own = situation.own()
    if own is None or own.bound != "memory":
        return
    products = sum(cost.time_ms or 0.0 for cost in own.layers if cost.bound == "compute")
    total = sum(cost.time_ms or 0.0 for cost in own.layers)
    moved = sum(cost.moved_bytes for cost in own.layers)
    yield (
        Severity.HINT,
        "",
        f"memory bounds {1 - products / total:.0%} of the device's predicted time: a step moves {moved / 1e9:.3g} GB at"
        f" {situation.target.bandwidth_gb_s:.4g} GB/s, and 16 bit halves that at most, whatever the peak rates promise",
        "fuse what lies between products: search.xla=[true]"
        if _offers_xla(situation)
        else "fewer and larger layers between products",
    )


@kind("optimizer-traffic")
def optimizer_traffic(situation: Situation) -> Iterator[Found]:
    """An optimizer that takes a good part of the device's time, and more of it under a mixed policy."""
    own = situation.own()
    if own is None or own.bound == "host" or own.optimizer_ms / own.device_ms < _MUCH:
        return
    parameters = sum(layer.trainable for layer in situation.facts.float32.layers)
    yield (
        Severity.HINT,
        "",
        f"updating {parameters:,} weights with {situation.facts.optimizer} takes {own.optimizer_ms / own.device_ms:.0%}"
        " of the device's predicted time, in float32 under every policy",
        f"{_larger_batch(situation)}: fewer updates for the same examples",
    )


@kind("input-bound")
def input_bound(situation: Situation) -> Iterator[Found]:
    """An input pipeline, measured on this host, that is slower than the device is predicted to be.

    At one's own batch, or else at the largest that is advised.
    """
    measured_ms = situation.facts.feed_ms
    if measured_ms is None:
        return
    for size in (situation.batch_size, batch_sizes(situation)[-1]):
        found, feed_ms = situation.forecaster.forecast(Setting("float32", size)), situation.forecaster.feed_ms(size)
        if found is None or feed_ms is None:
            return
        # A batch is made beside it, and its own time is in the step already.
        else_ms = found.step_ms - found.input_ms - found.waiting_ms
        if feed_ms <= else_ms:
            continue
        at_own = size == situation.batch_size
        yield (
            Severity.WARNING if at_own else Severity.HINT,
            "",
            f"making one batch of {situation.batch_size} was measured at {measured_ms:.3g} ms on this host,"
            + (" longer than" if at_own else f" so that one of {size} takes about {feed_ms:.3g} ms, longer than")
            + f" all else in a predicted step, {else_ms:.3g} ms: no precision makes it faster",
            "smaller or ready-made inputs (data=npz), or a host with more cores",
        )
        return


def _offers_xla(situation: Situation) -> bool:
    """Whether XLA may gain something: a GPU, and no layer that refuses it."""
    return situation.target.kind is DeviceKind.gpu and situation.forecaster.knows_xla(on=True)


def _larger_batch(situation: Situation) -> str:
    largest = batch_sizes(situation)[-1]
    if largest > situation.batch_size:
        return f"train.batch_size={largest}"
    return "a larger batch, which memory or the number of training examples does not allow here"
