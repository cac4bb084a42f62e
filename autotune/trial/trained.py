"""Trainings: how, and what came of them, unjudged. A quantity that could not be had is `None`, never zero."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.trial.candidate import Candidate
from autotune.trial.effect import Effect


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model was trained; a verdict speaks of this and of nothing else.

    Attributes:
        examples: training examples used in each epoch.
        epochs: passes over them.
        batch_size: examples per optimizer step.
        optimizer: name of the optimizer.
        learning_rate: peak learning rate after scaling with the batch.
        base_learning_rate: the user's own, at the user's own batch size.
        scaling: rule by which the learning rate follows the batch: none, sqrt or linear.
        schedule: cosine (to zero), constant or step.
        warmup_steps: optimizer steps of linear warm-up, already rescaled with the batch.
        total_steps: optimizer steps in all.
        evaluations: evaluations on the validation part, evenly spaced, the last one at the end.
    """

    examples: int
    epochs: int
    batch_size: int
    optimizer: str
    learning_rate: float
    base_learning_rate: float
    scaling: str
    schedule: str
    warmup_steps: int
    total_steps: int
    evaluations: int = 2

    def __str__(self) -> str:
        return f"{self.examples:,} examples x {self.epochs} epochs"


@dataclass(frozen=True, slots=True)
class EpochPoint:
    """One epoch of a training run; `None` where a value was not finite or not evaluated.

    Attributes:
        elapsed_s: training time since the start, evaluation apart [s].
        loss_scale: at the end of the epoch; `None` without loss scaling.
        skipped_steps: steps of this epoch that the loss scaler skipped.
    """

    epoch: int
    train_loss: float | None
    metric: float | None
    elapsed_s: float
    loss_scale: float | None = None
    skipped_steps: int = 0


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One training of one candidate on one seed.

    Attributes:
        metric: the constraint's metric on the whole validation part, at the end; `None` if it was not finite.
        curve: one point an epoch.
        iterations: optimizer steps applied, as the optimizer counts them.
        skipped_steps: steps that the loss scaler skipped (attempted less applied).
        loss_scale: loss scale at the end; `None` without loss scaling.
        loss_finite: whether every epoch's loss was finite.
        train_s: wall clock of `fit`, evaluation apart [s].
        weights_digest: digest of the initial weights, which shows that two runs started alike.
        model_path: where the trained model was kept, or `None`.
        right: which validation examples the trained model gets right, for class labels: one bit an example, packed as
            by `numpy.packbits` and written in base64; else `None`.
    """

    candidate: Candidate
    seed: int
    recipe: Recipe
    metric: float | None
    curve: tuple[EpochPoint, ...]
    iterations: int
    skipped_steps: int
    loss_scale: float | None
    loss_finite: bool
    train_s: float
    weights_digest: str
    effect: Effect
    model_path: str | None = None
    worker: int = 0
    right: str | None = None
