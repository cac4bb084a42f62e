"""How a candidate is trained: the user's own recipe, carried over to another batch size by an explicit rule.

With B the user's batch and k = batch / B:

    none      lr             (the rate stays)
    sqrt      lr * sqrt(k)   default of adaptive optimizers: their step is normalised by the gradient's own size, so
                             only the noise shrinks, as sqrt(k) (Malladi et al., NeurIPS 2022, "On the SDEs and scaling
                             rules for adaptive gradient algorithms")
    linear    lr * k         default of SGD: k times fewer steps, each k times as long (Goyal et al. 2017, "Accurate,
                             large minibatch SGD"), with that paper's gradual warm-up

A raised rate is warmed up under the cosine schedule only, the one that Keras saves with a warm-up in it.

Whatever is counted in optimizer steps (warm-up, step boundaries, callbacks' step arguments) is divided by k.
"""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config.train import LearningRateScaling, Schedule, TrainConfig
from autotune.trial import Candidate, Recipe

_SGD_LIKE = ("sgd",)

# A learning rate that was raised starts from zero over this share of the steps; in a short training the unwarmed first
# steps of a raised rate diverge (measured on the CIFAR MLP: loss 4.0 instead of 2.1 in the first epoch at k = 16).
WARMUP_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How long one training is: examples per epoch, and epochs."""

    examples: int
    epochs: int

    def __str__(self) -> str:
        return f"{self.examples:,} examples x {self.epochs} epochs"


EVALUATIONS = 2
"""Evaluations on the validation part in one training, unless more are asked for: each is a whole forward pass."""


def evaluated_epochs(epochs: int, evaluations: int = EVALUATIONS) -> frozenset[int]:
    """The epochs, counted from 1, after which the metric is taken; evenly spaced, the last among them.

    Args:
        epochs: of the whole training.
        evaluations: at least 1; more than epochs are one an epoch.
    """
    return frozenset(-(-part * epochs // evaluations) for part in range(1, evaluations + 1))


def scaling_rule(train: TrainConfig) -> LearningRateScaling:
    """The rule in force: the configured one, or the optimizer's default for `auto`."""
    if train.scaling is not LearningRateScaling.auto:
        return train.scaling
    return LearningRateScaling.linear if train.optimizer.lower() in _SGD_LIKE else LearningRateScaling.sqrt


def scaled_learning_rate(base: float, factor: float, rule: LearningRateScaling) -> float:
    """The learning rate at `factor` times the user's batch size.

    Raises:
        ValueError: the rule is `auto`, which `scaling_rule` resolves.
    """
    match rule:
        case LearningRateScaling.none:
            return base
        case LearningRateScaling.sqrt:
            return base * float(factor**0.5)
        case LearningRateScaling.linear:
            return base * factor
        case _:
            raise ValueError(f"a learning rate is scaled by a definite rule, but got {rule.value}")


def recipe_for(
    train: TrainConfig, candidate: Candidate, fidelity: Fidelity, *, evaluations: int | None = None
) -> Recipe:
    """The training of a candidate at a fidelity.

    Args:
        train: the user's own recipe.
        candidate: whose batch size it is carried over to.
        fidelity: how long.
        evaluations: on the validation part, at most one an epoch; `EVALUATIONS` unless given.

    Raises:
        ValueError: the batch is larger than the examples, or there is no evaluation.
    """
    if evaluations is not None and evaluations < 1:
        raise ValueError(f"a training needs an evaluation at its end, but got {evaluations}")
    steps_per_epoch = fidelity.examples // candidate.batch_size
    if steps_per_epoch < 1:
        raise ValueError(f"a batch of {candidate.batch_size} does not fit into {fidelity.examples} examples")
    factor = candidate.batch_size / train.batch_size
    rule = scaling_rule(train)
    total = steps_per_epoch * fidelity.epochs
    warmup = 0
    if train.schedule is Schedule.cosine:
        warmup = round(train.warmup_steps / factor)
        if factor > 1 and rule is not LearningRateScaling.none:
            warmup = max(warmup, round(WARMUP_SHARE * total))
    return Recipe(
        examples=fidelity.examples,
        epochs=fidelity.epochs,
        batch_size=candidate.batch_size,
        optimizer=train.optimizer,
        learning_rate=scaled_learning_rate(train.learning_rate, factor, rule),
        base_learning_rate=train.learning_rate,
        scaling=rule.value,
        schedule=train.schedule.value,
        warmup_steps=min(warmup, max(0, total - 1)),
        total_steps=total,
        evaluations=min(evaluations or EVALUATIONS, fidelity.epochs),
    )
