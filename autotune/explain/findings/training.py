"""A training step of a person's own."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.explain.findings.registry import Found, Severity, kind
from autotune.explain.situation import Situation


@kind("no-loss-scaling")
def no_loss_scaling(situation: Situation) -> Iterator[Found]:
    """A step of its own that does not scale its loss, where layers compute in float16."""
    step, ranges = situation.facts.reduced, situation.facts.ranges
    if step is None or not (step.own_train_step and step.loss_scaling) or step.scales_loss:
        return
    measured = f"; {ranges.vanishing:.0%} of its gradients would be zero in float16" if ranges is not None else ""
    yield (
        Severity.PROBLEM,
        "",
        f"the model's own train_step never asks the optimizer to scale its loss, which it then unscales{measured}",
        "loss = self.optimizer.scale_loss(loss) before tape.gradient",
    )


@kind("clips-scaled-gradients")
def clips_scaled(situation: Situation) -> Iterator[Found]:
    """A step of its own that clips gradients before they are unscaled."""
    step = situation.facts.reduced
    if step is not None and step.loss_scaling and step.clips_scaled:
        yield (
            Severity.PROBLEM,
            "",
            "the model's own train_step clips gradients of a scaled loss: at a scale of 32768 a norm of 1 leaves next"
            " to nothing of them",
            "'train.optimizer_args={global_clipnorm: 1.0}' instead: the optimizer clips after unscaling",
        )
