"""`train=...`: the user's own training settings, which are the baseline, and how they follow the batch."""

import enum
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from autotune.config.checks import did_you_mean, positive, require
from autotune.errors import ConfigError

OPTIMIZERS = ("sgd", "rmsprop", "adam", "adamw", "adagrad", "adadelta", "adamax", "nadam", "lion", "ftrl")


class Schedule(enum.Enum):
    """Learning-rate schedule over the whole training."""

    cosine = "cosine"
    constant = "constant"
    step = "step"


class LearningRateScaling(enum.Enum):
    """How the learning rate follows the batch; `auto` picks by optimizer."""

    auto = "auto"
    none = "none"
    sqrt = "sqrt"
    linear = "linear"


@dataclass
class CallbackConfig:
    """A person's own Keras callback, made anew for every training.

    Attributes:
        _target_: dotted name of the class.
        args: its keyword arguments.
        step_args: names among `args` that count optimizer steps; they are rescaled with the batch.
    """

    _target_: str = "???"
    args: Dict[str, Any] = field(default_factory=dict)
    step_args: List[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        unknown = [name for name in self.step_args if name not in self.args]
        require(not unknown, "train.callbacks[].step_args must name keys of its args", unknown)


@dataclass
class TrainConfig:
    """How the user trains in float32 today.

    Attributes:
        optimizer: name of a Keras optimizer.
        optimizer_args: further keyword arguments of it, such as momentum.
        learning_rate: at the user's own batch size.
        batch_size: the user's own.
        loss: name of a Keras loss, or `auto`: sparse categorical cross-entropy for class labels, else mean squared
            error.
        epochs: passes over the training examples; null lets the budget decide.
        examples: training examples per epoch; null lets the budget decide.
        schedule: cosine (to zero, the default since it settles), constant, or step.
        step_boundaries: for `step`: optimizer steps, at the user's own batch size, after which the rate is multiplied.
        step_factor: for `step`: what it is multiplied by.
        warmup_steps: linear warm-up in optimizer steps at the user's own batch size.
        scaling: how the learning rate follows the batch (see `autotune.space.recipe`).
        tf32: whether float32 matrix products may run in TF32 on a GPU that has it; null leaves it to TensorFlow, which
            lets them.
        seed: first seed; the study counts on from it.
        callbacks: a person's own callbacks.
    """

    optimizer: str = "sgd"
    optimizer_args: Dict[str, Any] = field(default_factory=dict)
    learning_rate: float = 0.01
    batch_size: int = 32
    loss: str = "auto"
    epochs: Optional[int] = None
    examples: Optional[int] = None
    schedule: Schedule = Schedule.cosine
    step_boundaries: List[int] = field(default_factory=list)
    step_factor: float = 0.1
    warmup_steps: int = 0
    scaling: LearningRateScaling = LearningRateScaling.auto
    tf32: Optional[bool] = None
    seed: int = 0
    callbacks: List[CallbackConfig] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.optimizer.lower() not in OPTIMIZERS:
            raise ConfigError(
                f"train.optimizer must be one of {', '.join(OPTIMIZERS)}, but got {self.optimizer!r}."
                + did_you_mean(self.optimizer, OPTIMIZERS)
            )
        require(
            "gradient_accumulation_steps" not in self.optimizer_args,
            "train.optimizer_args must leave gradient_accumulation_steps out",
            self.optimizer_args.get("gradient_accumulation_steps"),
            "train.batch_size is what one optimizer step takes; add search.accumulation=[1,2,4] to try it in parts",
        )
        positive("train.learning_rate", self.learning_rate)
        positive("train.batch_size", self.batch_size)
        positive("train.epochs", self.epochs, "leave it null to let the budget decide")
        positive("train.examples", self.examples, "leave it null to let the budget decide")
        positive("train.step_factor", self.step_factor)
        require(self.warmup_steps >= 0, "train.warmup_steps must not be negative", self.warmup_steps)
        require(self.seed >= 0, "train.seed must not be negative", self.seed)
        require(
            self.warmup_steps == 0 or self.schedule is Schedule.cosine,
            "train.warmup_steps needs train.schedule=cosine",
            self.schedule.value,
        )
        self._check_steps()

    def _check_steps(self) -> None:
        """What belongs to `schedule: step`; elsewhere it would be passed over in silence."""
        ordered = sorted(set(self.step_boundaries))
        require(ordered == self.step_boundaries, "train.step_boundaries must increase", self.step_boundaries)
        require(
            self.schedule is not Schedule.step or bool(self.step_boundaries),
            "train.schedule=step needs train.step_boundaries",
            self.step_boundaries,
        )
        require(
            all(step >= 1 for step in self.step_boundaries),
            "train.step_boundaries must be at least 1 each",
            self.step_boundaries,
        )
        for key, given in (
            ("step_boundaries", bool(self.step_boundaries)),
            ("step_factor", self.step_factor != TrainConfig.step_factor),
        ):
            require(
                not given or self.schedule is Schedule.step,
                f"train.{key} needs train.schedule=step",
                self.schedule.value,
                "set that, or leave the other out",
            )
