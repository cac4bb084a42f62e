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
class EarlyStop:
    """A training ends after `epoch` if its metric is worse than `metric` then.

    Attributes:
        epoch: counted from 1, one of those that are evaluated and not the last.
        metric: the threshold, in the constraint's metric.
        higher: whether a higher metric is better.
    """

    epoch: int
    metric: float
    higher: bool = True

    def ends(self, epoch: int, metric: float | None) -> bool:
        """Whether a training that shows this metric after this epoch ends here; one that has none does not."""
        if epoch != self.epoch or metric is None:
            return False
        return metric < self.metric if self.higher else metric > self.metric


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One training of one candidate on one seed.

    Attributes:
        metric: the constraint's metric on the whole validation part, at the end; `None` if it was not finite, or the
            training was stopped early.
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
        stopped: where the training was stopped early, and below what; `None` for a whole one. A stopped one says
            nothing of the metric at the end: it is evidence for no verdict.
        permuted: where the metric was one value at every evaluation, what it is of the last outputs against other
            examples' targets: another value, if the model has learned and the metric shows it. Else `None`.
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
    stopped: EarlyStop | None = None
    permuted: float | None = None

    @property
    def asked_steps(self) -> int:
        """Optimizer steps up to its end, whole or stopped early."""
        recipe = self.recipe
        return recipe.total_steps if self.stopped is None else self.stopped.epoch * recipe.total_steps // recipe.epochs

    @property
    def metric_is_lost(self) -> bool:
        """Whether there should be a metric, but it was not finite."""
        return self.metric is None and self.stopped is None
