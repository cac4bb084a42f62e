"""Dtypes: what computes in which, against what was asked."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.explain.findings.registry import Found, Severity, kind, named
from autotune.explain.situation import Situation
from autotune.trial.anatomy import LayerAnatomy

_HALF = ("float16", "bfloat16")
_WORTH = 0.01  # of all FLOPs
_SMALLEST_NORMAL = 6.1e-5  # of float16
_FLUSHED = 2.0**-25


@kind("output-16-bit")
def output_16_bit(situation: Situation) -> Iterator[Found]:
    """The model's output is 16-bit under a 16-bit policy."""
    step = situation.facts.reduced
    if step is None or not any(dtype in _HALF for dtype in step.output_dtypes):
        return
    layer = named(list(step.output_layers)) or "the last layer"
    mended = (
        "is made float32 for every trial here"
        if step.not_mended is None
        else f"stays so, and every trial in it fails ({step.not_mended})"
    )
    yield (
        Severity.PROBLEM,
        layer,
        f"under {step.policy} the output is {step.output_dtypes[0]}: softmax, loss and metrics lose digits, and a loss"
        f" overflows above 65504; it {mended}, and in your own script nothing mends it",
        f'give {layer} dtype="float32"',
    )


@kind("softmax-16-bit")
def softmax_16_bit(situation: Situation) -> Iterator[Found]:
    """The softmax before a float32 output is computed in 16 bit all the same."""
    step = situation.facts.reduced
    if step is None or any(dtype in _HALF for dtype in step.output_dtypes):
        return
    for layer in situation.layers:
        last = [one for one in situation.layers if one.name in step.output_layers]
        if any(dtype in _HALF for dtype in layer.softmax_dtypes) and last and layer.output == last[0].output:
            yield (
                Severity.WARNING,
                layer.name,
                f"its softmax runs in {layer.softmax_dtypes[0]}, and only its result is cast to float32: probabilities"
                " below 6e-8 are zero before the loss sees them",
                'compute the softmax itself in float32: keras.layers.Activation("softmax", dtype="float32")',
            )


@kind("never-16-bit")
def never_16_bit(situation: Situation) -> Iterator[Found]:
    """The whole model stays in float32: it was built before the policy was set, or says so itself."""
    step = situation.facts.reduced
    if step is None:
        return
    flops = sum(layer.flops for layer in situation.layers)
    if flops and not any(product.dtype in _HALF for layer in situation.layers for product in layer.products):
        yield (
            Severity.PROBLEM,
            "",
            f"under {step.policy} none of {flops:,} FLOPs a step runs in 16 bit: a layer's policy is fixed when it is"
            " made, and these were made before it was set, or with dtype='float32'",
            "make all layers within the builder, and give none a dtype but the last",
        )


@kind("layer-never-16-bit")
def layer_never_16_bit(situation: Situation) -> Iterator[Found]:
    """Hidden layers whose products stay in float32."""
    step = situation.facts.reduced
    if step is None:
        return
    total = sum(layer.flops for layer in situation.layers)
    if not any(product.dtype in _HALF for layer in situation.layers for product in layer.products):
        return  # `never-16-bit` speaks of it
    for layer in situation.layers:
        full = sum(product.flops for product in layer.products if product.dtype == "float32")
        if layer.name not in step.output_layers and total and full / total >= _WORTH:
            yield (
                Severity.WARNING,
                layer.name,
                f"{full / total:.0%} of the model's FLOPs stay in float32 under {step.policy}"
                f" (the layer's own dtype is {layer.compute_dtype})",
                f'leave dtype="float32" out of {layer.name}, unless it needs it',
            )


@kind("dtype-changes")
def dtype_changes(situation: Situation) -> Iterator[Found]:
    """A float32 layer between 16-bit ones: its inputs and outputs are cast on the way."""
    step = situation.facts.reduced
    if step is None:
        return
    layers = [layer for layer in situation.layers if layer.output_dtype]
    moved = sum(layer.weight_bytes + layer.batch_bytes for layer in situation.layers) or 1
    for before, layer, after in zip(layers, layers[1:], layers[2:], strict=False):
        own = layer.compute_dtype == "float32" and layer.operations and layer.name not in step.output_layers
        cast = _elements(layer) * (2 + 4) * 2
        if own and before.output_dtype in _HALF and after.compute_dtype in _HALF and cast / moved >= _WORTH:
            yield (
                Severity.HINT,
                layer.name,
                f"it is float32 between {before.name} and {after.name} in {step.policy}: casts move {cast / 1e6:.3g} MB"
                f" a step, {cast / moved:.0%} of all that the step moves",
                f'leave dtype="float32" out of {layer.name}, unless it needs it',
            )


@kind("own-casts")
def own_casts(situation: Situation) -> Iterator[Found]:
    """A person's own layer, or a Lambda, that casts its activations back to float32."""
    for layer in situation.layers:
        if (layer.own or layer.kind == "Lambda") and layer.casts and layer.compute_dtype in _HALF:
            yield (
                Severity.WARNING,
                layer.name,
                f"{layer.kind} is to compute in {layer.compute_dtype} and casts activations {layer.casts} times:"
                " what it does in between gains nothing",
                "compute in self.compute_dtype, and cast constants instead of activations",
            )


@kind("weights-16-bit")
def weights_16_bit(situation: Situation) -> Iterator[Found]:
    """Weights that are stored in 16 bit: small updates are rounded away."""
    found = [layer for layer in situation.layers if layer.trainable and layer.variable_dtype in _HALF]
    for layer in found:
        yield (
            Severity.PROBLEM,
            layer.name,
            f"its {layer.trainable:,} weights are stored in {layer.variable_dtype}: an update below a"
            f" {'thousandth' if layer.variable_dtype == 'float16' else 'hundredth'} of a weight is lost",
            f'give {layer.name} dtype="mixed_{layer.variable_dtype}", which keeps weights in float32',
        )


@kind("optimizer-epsilon")
def optimizer_epsilon(situation: Situation) -> Iterator[Found]:
    """The optimizer's epsilon has no digits in float16 weights' own arithmetic."""
    epsilon = situation.facts.epsilon
    if epsilon is None or not epsilon < _SMALLEST_NORMAL:
        return
    found = [layer.name for layer in situation.layers if layer.trainable and layer.variable_dtype == "float16"]
    if found:
        yield (
            Severity.PROBLEM,
            named(found),
            f"{situation.facts.optimizer} divides by a square root plus epsilon {epsilon:g}, in float16 for float16"
            f" weights, whose smallest normal number is {_SMALLEST_NORMAL:g}: the quotient overflows",
            "'train.optimizer_args={epsilon: 1e-4}', or keep weights in float32",
        )


@kind("baseline-16-bit")
def baseline_16_bit(situation: Situation) -> Iterator[Found]:
    """The float32 baseline computes in 16 bit in places."""
    for layer in situation.facts.float32.layers[:-2]:
        half = next((product.dtype for product in layer.products if product.dtype in _HALF), None)
        half = half or (layer.compute_dtype if layer.compute_dtype in _HALF else None)
        if half:
            yield (
                Severity.PROBLEM,
                layer.name,
                f"under float32 it computes in {half} all the same: the baseline is then no float32 training",
                f"leave the dtype out of {layer.name}; the policy sets it",
            )


@kind("constant-overflows")
def constant_overflows(situation: Situation) -> Iterator[Found]:
    """A constant that is infinite, or not in range, in float16."""
    for layer in (*situation.layers, *situation.step.layers[-2:]):
        for constant in layer.constants:
            beyond = constant.value is None or abs(constant.value) > 65504
            if constant.dtype == "float16" and beyond and not layer.softmax_dtypes:
                yield (
                    Severity.PROBLEM,
                    layer.name,
                    "it holds a constant beyond 65504, which is infinite in float16: 0 times it is not a number",
                    "keep constants within 6e4, or compute this in float32",
                )
                break


@kind("mask-overflows")
def mask_overflows(situation: Situation) -> Iterator[Found]:
    """A mask value, such as -1e9, before a softmax in float16."""
    for layer in situation.layers:
        beyond = [one for one in layer.constants if one.value is None or abs(one.value) > 65504]
        if layer.softmax_dtypes and any(one.dtype == "float16" for one in beyond):
            yield (
                Severity.PROBLEM,
                layer.name,
                "its mask adds a constant beyond -65504 before a softmax in float16: a row that is masked whole, or"
                " 0 times infinity, gives not a number",
                "mask with -3e4 where the dtype is float16, or use the layer's own mask argument",
            )


@kind("constant-vanishes")
def constant_vanishes(situation: Situation) -> Iterator[Found]:
    """A small constant of the float32 graph, such as an epsilon, that is zero in float16."""
    step = situation.facts.reduced
    if step is None or step.policy != "mixed_float16":
        return
    for layer in situation.facts.float32.layers:
        small = [one.value for one in layer.constants if one.value is not None and 0 < abs(one.value) <= _FLUSHED]
        other = step.layer(layer.name)
        kept = {one.value for one in other.constants if one.dtype == "float32"} if other else set(small)
        lost = [value for value in small if value not in kept]
        if lost:
            yield (
                Severity.PROBLEM,
                layer.name,
                f"its constant {lost[0]:g} is zero in float16, whose smallest number is 6e-8: what it guards against,"
                " such as a logarithm or a quotient of zero, happens",
                "use 1e-6 or more, or compute this in float32",
            )


@kind("float64")
def float64(situation: Situation) -> Iterator[Found]:
    """Operations in float64, which most GPUs run at 1/32 of float32's rate."""
    for layer in situation.facts.float32.layers:
        if layer.float64:
            yield (
                Severity.WARNING,
                layer.name,
                f"{layer.float64} of its operations run in float64, at 1/2 to 1/64 of float32's rate",
                "make constants and numpy arrays float32",
            )


@kind("policy-fails")
def policy_fails(situation: Situation) -> Iterator[Found]:
    """The model cannot be built or traced in 16 bit at all."""
    if reason := situation.facts.failures.get("16 bit"):
        yield (
            Severity.PROBLEM,
            "",
            f"it cannot be built and traced in 16 bit: {reason}",
            "mend the builder, or use float32",
        )


@kind("model-reused")
def model_reused(situation: Situation) -> Iterator[Found]:
    """The builder returns one and the same model each time."""
    if situation.facts.reused:
        yield (
            Severity.PROBLEM,
            "",
            "two calls of the builder returned the same object: it keeps the first policy, and trained weights go on"
            " into the next trial",
            "make the model inside the builder",
        )


def _elements(layer: LayerAnatomy) -> int:
    total = 0
    for shape in (*layer.inputs, layer.output):
        size = 1
        for length in shape:
            size *= length
        total += size
    return total
