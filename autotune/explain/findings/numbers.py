"""Magnitudes on a real batch, in float32 at the initial weights, against what float16 can hold."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.explain.findings.registry import Found, Severity, kind, named
from autotune.explain.situation import Situation

LARGEST = 65504.0

_NEAR = 8  # training may well grow an activation by as much
_MUCH = 0.05  # a share of gradients or activations


def _uses_float16(situation: Situation) -> bool:
    return situation.facts.reduced is not None and situation.facts.reduced.policy == "mixed_float16"


def _in_float16(situation: Situation, name: str) -> bool:
    """Whether a layer's output, and so the gradients in it, are float16 there; a layer not seen there may be."""
    layer = situation.step.layer(name)
    return layer is None or layer.output_dtype == "float16"


def _vanishing(situation: Situation) -> tuple[float, float]:
    """Share of the gradients of float16 layers that float16 makes zero, and the same with the loss scaled."""
    ranges = situation.facts.ranges
    assert ranges is not None
    counted = [numbers for name, numbers in ranges.gradients.items() if _in_float16(situation, name)]
    present = sum(numbers.present for numbers in counted)
    if not present:
        return 0.0, 0.0
    plain = sum(numbers.vanishing * numbers.present for numbers in counted)
    return plain / present, sum(numbers.vanishing_scaled * numbers.present for numbers in counted) / present


@kind("activation-overflows")
def activation_overflows(situation: Situation) -> Iterator[Found]:
    """Activations beyond float16's range, or near to it."""
    ranges = situation.facts.ranges
    if ranges is None or not _uses_float16(situation):
        return
    for name, numbers in ranges.activations.items():
        if not _in_float16(situation, name):
            continue
        if numbers.largest is not None and numbers.largest > LARGEST / _NEAR:
            beyond = numbers.largest > LARGEST
            yield (
                Severity.PROBLEM if beyond else Severity.WARNING,
                name,
                f"its output reaches {numbers.largest:.3g} on a real batch of {ranges.examples};"
                f" float16 ends at {LARGEST:g}",
                f'scale or normalise before it, give {name} dtype="float32", or use mixed_bfloat16',
            )


@kind("not-finite")
def not_finite(situation: Situation) -> Iterator[Found]:
    """Infinite or undefined values in float32 already."""
    ranges = situation.facts.ranges
    if ranges is None:
        return
    for name, numbers in ranges.activations.items():
        if not numbers.finite:
            yield (
                Severity.PROBLEM,
                name,
                f"its output is not finite on a real batch of {ranges.examples}, in float32",
                "no baseline can be trained so: look at this layer, its initial weights and the inputs",
            )
            return  # whatever follows is infected by it


@kind("activation-vanishes")
def activation_vanishes(situation: Situation) -> Iterator[Found]:
    """Activations that float16 makes zero."""
    ranges = situation.facts.ranges
    if ranges is None or not _uses_float16(situation):
        return
    for name, numbers in ranges.activations.items():
        layer = situation.step.layer(name)
        if numbers.vanishing > _MUCH and layer is not None and layer.output_dtype == "float16":
            yield (
                Severity.WARNING,
                name,
                f"{numbers.vanishing:.0%} of its outputs that are not zero would be zero in float16",
                f'give {name} dtype="float32", or use mixed_bfloat16',
            )
            return  # what follows gets it from here


@kind("gradients-vanish-scaled")
def gradients_vanish_scaled(situation: Situation) -> Iterator[Found]:
    """Gradients that float16 makes zero although the loss is scaled."""
    ranges = situation.facts.ranges
    if ranges is None or not _uses_float16(situation):
        return
    plain, scaled = _vanishing(situation)
    if scaled <= _MUCH:
        return
    yield (
        Severity.WARNING,
        _worst(situation),
        f"{scaled:.0%} of the gradients that are not zero would be zero in float16 at a loss scale of"
        f" {ranges.scale:g} ({plain:.0%} without scaling)",
        "use mixed_bfloat16, or a loss that is summed over the batch and not averaged",
    )


@kind("gradients-need-scaling")
def gradients_need_scaling(situation: Situation) -> Iterator[Found]:
    """Gradients that float16 makes zero, and that loss scaling saves."""
    ranges = situation.facts.ranges
    if ranges is None or not _uses_float16(situation):
        return
    plain, scaled = _vanishing(situation)
    if plain > _MUCH and scaled <= _MUCH:
        yield (
            Severity.HINT,
            _worst(situation),
            f"{plain:.0%} of the gradients that are not zero would be zero in float16 without loss scaling,"
            f" {scaled:.1%} at the scale of {ranges.scale:g} that Keras begins with",
            "keep the LossScaleOptimizer, also in a training loop of your own",
        )


@kind("gradients-overflow")
def gradients_overflow(situation: Situation) -> Iterator[Found]:
    """Gradients so large that no loss scale above one fits them."""
    ranges = situation.facts.ranges
    if ranges is None or not _uses_float16(situation):
        return
    beyond = [
        (numbers.largest, name)
        for name, numbers in ranges.gradients.items()
        if numbers.largest is not None and numbers.largest > LARGEST and _in_float16(situation, name)
    ]
    if beyond:
        largest, name = max(beyond)
        yield (
            Severity.PROBLEM,
            name,
            f"a gradient reaches {largest:.3g} on a real batch, beyond float16's {LARGEST:g} before any loss scaling:"
            " every step would be skipped while the scale falls to nothing",
            "scale the targets or the loss down, or use mixed_bfloat16",
        )


@kind("inputs-unscaled")
def inputs_unscaled(situation: Situation) -> Iterator[Found]:
    """Inputs that are large before the first layer has seen them."""
    targets = situation.facts.targets
    largest = max(abs(targets.x_low), abs(targets.x_high))
    takes_ids = any(layer.kind == "Embedding" for layer in situation.layers)
    normalises = any(layer.kind in ("Rescaling", "Normalization") for layer in situation.layers)
    if _uses_float16(situation) and largest > 1000 and not takes_ids and not normalises:
        yield (
            Severity.WARNING,
            "",
            f"inputs range from {targets.x_low:.4g} to {targets.x_high:.4g}: float16 has a spacing of"
            f" {largest * 2**-11:.2g} there, and products of them overflow",
            "standardise the inputs in your data source, in float32",
        )


def _worst(situation: Situation) -> str:
    """The layers whose gradients vanish most."""
    ranges = situation.facts.ranges
    if ranges is None:
        return ""
    names = [name for name in ranges.gradients if _in_float16(situation, name)]
    ordered = sorted(names, key=lambda name: -ranges.gradients[name].vanishing)
    return named([name for name in ordered if ranges.gradients[name].vanishing > _MUCH], most=2)
