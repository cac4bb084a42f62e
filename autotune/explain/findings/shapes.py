"""Sizes against the multiples that the target works best on: a matter of speed, never of correctness."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autotune.config.hardware import DeviceKind
from autotune.explain.findings.registry import Found, Severity, kind, named
from autotune.explain.situation import Situation
from autotune.trial.anatomy import LayerAnatomy

_WORTH = 0.05  # of the model's FLOPs
_VOCABULARY = 1000
_FEW_CHANNELS = 4
# The least that every tensor core wants of a 16-bit dtype: 16 bytes.
_COARSE = 8
_COARSE_REASON = "tensor cores work best on multiples of 16 bytes"
_MOST_GROWTH = 0.1


def multiple(situation: Situation) -> int:
    """What widths should be a multiple of, in the target's best 16-bit dtype, or in float32 without one."""
    policy = situation.best_16_bit or "float32"
    return situation.target.alignment(policy.removeprefix("mixed_"))


def _share(situation: Situation, layer: LayerAnatomy) -> float:
    total = sum(one.flops for one in situation.layers)
    return layer.flops / total if total else 0.0


def _matters(situation: Situation) -> bool:
    """Alignment is a rule of tensor cores and matrix units; vector units hide it."""
    return situation.target.kind in (DeviceKind.gpu, DeviceKind.tpu) and situation.best_16_bit is not None


@kind("width-misaligned")
def width_misaligned(situation: Situation) -> Iterator[Found]:
    """Hidden widths off the multiple."""
    wanted, outputs = multiple(situation), situation.step.output_layers
    if wanted <= 1 or not _matters(situation):
        return
    # A matrix unit pads to its whole width: less gains nothing there.
    multiples = (wanted,) if situation.target.kind is DeviceKind.tpu else (wanted, _COARSE)
    for layer in situation.layers:
        units = layer.settings.get("units") or layer.settings.get("filters")
        if not isinstance(units, int) or layer.name in outputs or _share(situation, layer) < _WORTH:
            continue
        better = better_width(units, multiples)
        if better == units:
            continue
        own = situation.config.model.widths
        wide = ",".join(str(better_width(width, multiples)) for width in own)
        unit = next(one for one in multiples if better % one == 0)
        reason = situation.target.alignment_reason(_dtype(situation)) if unit == wanted else _COARSE_REASON
        yield (
            Severity.HINT,
            layer.name,
            f"{units} is no multiple of {unit} ({reason}), and it makes {_share(situation, layer):.0%} of the model's"
            f" FLOPs; {better} is {better / units - 1:.1%} wider",
            f"model.widths=[{wide}]" if units in own else f"{better} units in {layer.name}",
        )


def better_width(width: int, multiples: tuple[int, ...]) -> int:
    """Upwards to the first of these that makes a layer at most a tenth wider; the same where none does."""
    for unit in multiples:
        better = math.ceil(width / unit) * unit
        if better <= width * (1 + _MOST_GROWTH):
            return better
    return width


@kind("batch-misaligned")
def batch_misaligned(situation: Situation) -> Iterator[Found]:
    """The batch off the multiple, where products have a dimension of that length: a convolution's is far longer."""
    wanted, batch = situation.target.batch_alignment(_dtype(situation)), situation.batch_size
    products = [product for layer in situation.layers for product in layer.products]
    total = sum(product.flops for product in products)
    of_batch = sum(product.flops for product in products if not product.is_convolution)
    if batch % wanted and _matters(situation) and total and of_batch / total >= _WORTH:
        yield (
            Severity.HINT,
            "",
            f"a batch of {batch} is no multiple of {wanted}, on which {situation.target.title} works best in"
            f" {_dtype(situation)}",
            f"train.batch_size={math.ceil(batch / wanted) * wanted}",
        )


@kind("vocabulary-misaligned")
def vocabulary_misaligned(situation: Situation) -> Iterator[Found]:
    """A large output or embedding off the multiple."""
    wanted, outputs = multiple(situation), situation.step.output_layers
    if wanted <= 1 or not _matters(situation):
        return
    for layer in situation.layers:
        size = layer.settings.get("input_dim") if layer.kind == "Embedding" else None
        if layer.name in outputs and layer.products and layer.output:
            size = layer.output[-1]
        if isinstance(size, int) and size > _VOCABULARY and size % wanted:
            better = math.ceil(size / wanted) * wanted
            yield (
                Severity.HINT,
                layer.name,
                f"{size:,} is no multiple of {wanted}: its product runs less efficiently"
                + (f", and it makes {_share(situation, layer):.0%} of the model's FLOPs" if layer.flops else ""),
                f"pad it to {better:,} and never use the last {better - size} (model.args, if your builder takes it)",
            )


@kind("few-channels")
def few_channels(situation: Situation) -> Iterator[Found]:
    """A first convolution of three channels: a tensor core multiplies eight at a time."""
    wanted = multiple(situation)
    if not _matters(situation) or wanted <= _FEW_CHANNELS:
        return
    for layer in situation.layers:
        channels = layer.inputs[0][-1] if layer.kind.startswith("Conv") and layer.inputs else 0
        if 0 < channels <= _FEW_CHANNELS and _share(situation, layer) >= _WORTH:
            yield (
                Severity.HINT,
                layer.name,
                f"it has {channels} input channels where {situation.target.title} works on {wanted} at a time, and"
                f" makes {_share(situation, layer):.0%} of the model's FLOPs",
                "let XLA pad it (search.xla=[true]), or start with a strided convolution on space-to-depth inputs",
            )


@kind("grouped-convolution")
def grouped_convolution(situation: Situation) -> Iterator[Found]:
    """Depthwise and grouped convolutions, which tensor cores do not help."""
    if not _matters(situation):
        return
    forecast = situation.own(situation.best_16_bit or "float32")
    grouped = [
        layer
        for layer in situation.layers
        if any(product.count > 1 and product.is_convolution for product in layer.products)
    ]
    if not grouped or forecast is None:
        return
    names = {layer.name for layer in grouped}
    total = sum(cost.time_ms or 0.0 for cost in forecast.layers)
    own = sum(cost.time_ms or 0.0 for cost in forecast.layers if cost.name in names)
    if total and own / total >= _WORTH:
        flops = sum(layer.flops for layer in grouped) / max(1, sum(layer.flops for layer in situation.layers))
        yield (
            Severity.HINT,
            named([layer.name for layer in grouped], most=2),
            f"{len(grouped)} depthwise or grouped convolutions make {flops:.0%} of the FLOPs and {own / total:.0%} of"
            " the device's predicted time: one channel at a time feeds no tensor core",
            "expect less than the peak rates promise; a full convolution with fewer channels may be faster",
        )


@kind("last-batch-partial")
def last_batch_partial(situation: Situation) -> Iterator[Found]:
    """A last batch of another size, for which the step is compiled once more."""
    examples = situation.config.train.examples or situation.facts.targets.examples
    rest = examples % situation.batch_size
    xla = situation.forecaster.knows_xla(on=True)  # neither on a CPU nor beside a layer that refuses it
    if rest and xla:
        yield (
            Severity.HINT,
            "",
            f"{examples:,} examples leave a last batch of {rest}: in your own script XLA, which Keras turns on for"
            f" {situation.target.kind.value}s, compiles the step again for it; it is dropped here",
            "dataset.batch(size, drop_remainder=True)",
        )


def _dtype(situation: Situation) -> str:
    return (situation.best_16_bit or "float32").removeprefix("mixed_")
