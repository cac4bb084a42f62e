"""Learning-rate schedules in optimizer steps, rescaled with the batch: the same passes over the data."""

from __future__ import annotations

from typing import Any

import keras

from autotune.config.train import TrainConfig
from autotune.errors import ConfigError
from autotune.trial import Candidate, Recipe


def learning_rate(recipe: Recipe, train: TrainConfig, candidate: Candidate) -> Any:
    """The learning rate to compile with: a number, or a Keras schedule over the recipe's steps.

    With accumulation it counts micro-batches, as Keras's optimizers read it then.
    """
    each = candidate.accumulation
    if recipe.schedule == "cosine":
        warm = min(recipe.warmup_steps, recipe.total_steps - 1)
        return keras.optimizers.schedules.CosineDecay(
            initial_learning_rate=0.0 if warm else recipe.learning_rate,
            decay_steps=max(1, recipe.total_steps - warm) * each,
            alpha=0.0,
            warmup_target=recipe.learning_rate if warm else None,
            warmup_steps=warm * each,
        )
    if recipe.schedule == "step":
        factor = train.batch_size / candidate.batch_size
        scaled = [max(1, round(step * factor)) for step in train.step_boundaries]
        boundaries = sorted(set(scaled))  # two that fall on one step multiply the rate twice there
        passed = [0] + [sum(step <= boundary for step in scaled) for boundary in boundaries]
        values = [recipe.learning_rate * train.step_factor**times for times in passed]
        return keras.optimizers.schedules.PiecewiseConstantDecay([step * each for step in boundaries], values)
    return recipe.learning_rate


def user_callbacks(train: TrainConfig, candidate: Candidate) -> list[keras.callbacks.Callback]:
    """A person's own callbacks, made anew; their `step_args` (numbers, or lists of them) are rescaled with the batch.

    Raises:
        ConfigError: one cannot be made, a step argument is no number, or it would resume a training.
    """
    from autotune.targets import resolve

    factor = train.batch_size / candidate.batch_size
    made = []
    for config in train.callbacks:
        args = {
            name: _rescaled(value, factor, name) if name in config.step_args else value
            for name, value in config.args.items()
        }
        callback = resolve(config._target_, "train.callbacks._target_")
        try:
            made.append(_fair(callback(**args), config._target_))
        except ConfigError:
            raise
        except Exception as error:
            raise ConfigError(
                f"the callback {config._target_} cannot be made with its args: {type(error).__name__}: {error}"
            ) from error
    return made


def _fair(callback: keras.callbacks.Callback, target: str) -> keras.callbacks.Callback:
    """The callback, unless trials that have it would begin where an earlier one, of another candidate, had got to."""
    if isinstance(callback, keras.callbacks.BackupAndRestore):
        raise ConfigError(
            f"train.callbacks must leave each training to start afresh, but got {target}, which resumes an earlier one;"
            " remove it (a checkpoint for yourself: keras.callbacks.ModelCheckpoint)"
        )
    return callback


def _rescaled(steps: Any, factor: float, name: str) -> Any:
    if isinstance(steps, list):
        return [_rescaled(step, factor, name) for step in steps]
    if isinstance(steps, bool) or not isinstance(steps, (int, float)):
        raise ConfigError(f"train.callbacks[].step_args must name numbers of steps, but {name} is {steps!r}")
    return max(1, round(steps * factor))
