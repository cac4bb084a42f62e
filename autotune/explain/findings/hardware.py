"""What the target cannot speed up, whatever the policy."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.explain.findings.registry import Found, Severity, kind
from autotune.explain.recurrent import in_cudnn
from autotune.explain.situation import Situation


def _asked(situation: Situation) -> set[str]:
    """The 16-bit policies that the configuration asks for by name."""
    config = situation.config
    return {policy for policy in (*(config.search.policies or ()), config.candidate.policy) if policy != "float32"}


@kind("policy-without-hardware")
def policy_without_hardware(situation: Situation) -> Iterator[Found]:
    """A policy that was asked for by name and that the target has no fast arithmetic for."""
    for choice in situation.choices:
        if choice.policy in _asked(situation) and not choice.offered:
            flops = sum(layer.flops for layer in situation.layers)
            yield (
                Severity.WARNING,
                "",
                f"{choice.policy} is asked for, but on {situation.target.title} {choice.reason}: none of"
                f" {flops / 1e9:.3g} GFLOP a step gets faster",
                f"leave {choice.policy} out of search.policies and candidate.policy",
            )


@kind("no-16-bit-hardware")
def no_16_bit_hardware(situation: Situation) -> Iterator[Found]:
    """A target on which no 16-bit policy pays."""
    if situation.best_16_bit is not None or not situation.choices:
        return
    reasons = [
        f"{choice.policy}: {choice.reason}"
        for choice in situation.choices
        if choice.policy in ("mixed_float16", "mixed_bfloat16")
    ]
    flops = sum(layer.flops for layer in situation.layers)
    yield (
        Severity.WARNING,
        "",
        f"no 16-bit policy speeds up this model's {flops / 1e9:.3g} GFLOP a step on {situation.target.title}"
        f" ({'; '.join(reasons)})",
        "look at batch size, XLA and steps per execution instead",
    )


@kind("tf32-already")
def tf32_already(situation: Situation) -> Iterator[Found]:
    """A baseline that runs on tensor cores already."""
    if not situation.target.has_tensor_cores("tf32") or situation.best_16_bit is None:
        return
    flops = sum(layer.flops for layer in situation.facts.float32.layers)
    tf32 = situation.target.peak_tflops("tf32")
    half = situation.target.peak_tflops(situation.best_16_bit.removeprefix("mixed_"))
    if flops and tf32 and half:
        yield (
            Severity.HINT,
            "",
            f"on {situation.target.title} float32 products run in TF32 by default: {flops / 1e9:.3g} GFLOP a step"
            f" are at {tf32:g} TFLOP/s already, and 16 bit has {half:g}, {half / tf32:.1f} times as much at best",
            "train.tf32=false for a true float32 baseline",
        )


@kind("xla-refused")
def xla_refused(situation: Situation) -> Iterator[Found]:
    """Layers that forbid XLA, which Keras then leaves out without an error."""
    found = [layer for layer in situation.layers if not layer.compiles]
    for layer in found:
        by_cudnn = in_cudnn(layer, situation.target)
        reason = "runs in cuDNN's kernels, which XLA does not take" if by_cudnn else "says that it does not support XLA"
        yield (
            Severity.HINT if by_cudnn else Severity.WARNING,
            layer.name,
            f"{layer.kind} {reason}, so jit_compile is off for the whole model of"
            f" {situation.step.operations:,} operations a step",
            "search.xla=[false]" if by_cudnn else f"replace {layer.name} to make search.xla=[true] possible",
        )


@kind("determinism")
def determinism(situation: Situation) -> Iterator[Found]:
    """TensorFlow's determinism switch, which turns XLA off silently and slows kernels."""
    if situation.facts.deterministic:
        yield (
            Severity.WARNING,
            "",
            f"deterministic operations are on: jit_compile is off for all {situation.step.operations:,} operations a"
            " step, whatever is asked, and some run slower",
            "leave out tf.config.experimental.enable_op_determinism and TF_DETERMINISTIC_OPS",
        )
