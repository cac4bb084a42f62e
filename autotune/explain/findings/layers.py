"""Layers that cost speed or exactness by what they are."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.config.hardware import DeviceKind
from autotune.explain.findings.registry import Found, Severity, kind
from autotune.explain.recurrent import RECURRENT, without_cudnn
from autotune.explain.situation import Situation

_FIRST_INEXACT = {"float16": 2**11, "bfloat16": 2**8}
"""Beyond these whole numbers, not every one has a representation."""


@kind("rnn-without-cudnn")
def rnn_without_cudnn(situation: Situation) -> Iterator[Found]:
    """A recurrent layer whose settings leave cuDNN, which is several times as fast as a loop."""
    if situation.target.kind is not DeviceKind.gpu:
        return
    for layer in situation.layers:
        if layer.kind not in RECURRENT:
            continue
        if wrong := without_cudnn(layer):
            steps = max((product.times for product in layer.products), default=1)
            yield (
                Severity.WARNING,
                layer.name,
                f"{', '.join(f'{key}={value}' for key, value, _ in wrong)} leaves cuDNN's kernel: it runs"
                f" {layer.operations:,} operations a step instead, in a loop of {steps} steps or unrolled",
                ", ".join(remedy for *_, remedy in wrong),
            )


@kind("stateful-rnn")
def stateful_rnn(situation: Situation) -> Iterator[Found]:
    """A recurrent layer that keeps its state fixes the batch size."""
    for layer in situation.layers:
        if layer.settings.get("stateful") is True:
            yield (
                Severity.WARNING,
                layer.name,
                f"it keeps its state between batches of {situation.batch_size}, so another batch is another model",
                f"search.batch_sizes=[{situation.batch_size}]",
            )


@kind("python-in-step")
def python_in_step(situation: Situation) -> Iterator[Found]:
    """Operations that call back into Python."""
    for layer in (*situation.facts.float32.layers,):
        if layer.python:
            yield (
                Severity.WARNING,
                layer.name,
                f"{layer.python} of its operations call Python in each step: the device waits, XLA cannot compile them,"
                " and an exported model lacks them",
                "write it with keras.ops, or move it into the data source",
            )


@kind("preprocessing-in-policy")
def preprocessing(situation: Situation) -> Iterator[Found]:
    """Pixels that are rescaled in 16 bit."""
    for layer in situation.layers:
        if layer.kind in ("Rescaling", "Normalization", "Resizing") and layer.output_dtype in _FIRST_INEXACT:
            error = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[layer.output_dtype]
            yield (
                Severity.HINT,
                layer.name,
                f"{layer.kind} runs in {layer.output_dtype} on inputs from {situation.facts.targets.x_low:.3g} to"
                f" {situation.facts.targets.x_high:.3g}: rounding alone moves them by up to {error:.1e} of themselves",
                f'give {layer.name} dtype="float32", or rescale in the data source',
            )


@kind("augmentation-in-model")
def augmentation(situation: Situation) -> Iterator[Found]:
    """Random image layers within the model."""
    for layer in situation.layers:
        if layer.kind.startswith("Random") or layer.kind in ("AutoContrast", "MixUp", "CutMix", "RandAugment"):
            yield (
                Severity.HINT,
                layer.name,
                f"{layer.kind} adds {layer.operations} operations to each step on the device, in {layer.output_dtype},"
                " and several of its kind cannot be compiled by XLA on GPUs",
                "augment in the data source or in tf.data, on the host",
            )


@kind("ids-rounded")
def ids_rounded(situation: Situation) -> Iterator[Found]:
    """Ids that reach an embedding in a dtype that cannot hold them all."""
    for layer in situation.layers:
        first = _FIRST_INEXACT.get(layer.input_dtypes[0]) if layer.input_dtypes else None
        size = layer.settings.get("input_dim")
        if layer.kind == "Embedding" and first is not None and isinstance(size, int) and size > first:
            yield (
                Severity.PROBLEM,
                layer.name,
                f"its {size:,} ids arrive in {layer.input_dtypes[0]}, which rounds whole numbers above {first}:"
                " tokens are taken for their neighbours",
                'keras.Input(shape, dtype="int32")',
            )


@kind("untrained-weights")
def untrained(situation: Situation) -> Iterator[Found]:
    """Weights that no gradient reaches, and those that get none but zeros at first."""
    ranges = situation.facts.ranges
    if ranges is None or situation.facts.float32.own_train_step:
        return
    for layer in situation.facts.float32.layers[:-2]:
        numbers = ranges.gradients.get(layer.name)
        if layer.trainable and numbers is None:
            yield (
                Severity.WARNING,
                layer.name,
                f"no gradient reaches its {layer.trainable:,} trainable weights on a real batch: they cost memory and"
                " optimizer traffic, and never change",
                f"trainable=False for {layer.name}, or connect it to the loss",
            )
        elif layer.trainable and numbers is not None and numbers.largest == 0:
            yield (
                Severity.HINT,
                layer.name,
                f"the gradient of its {layer.trainable:,} trainable weights is zero at the initial weights, as it is"
                " before a layer or a scale that begins at zero and then moves",
                "nothing, if that is what you meant; else look at the initializers that follow it",
            )
