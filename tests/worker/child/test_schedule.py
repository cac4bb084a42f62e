"""Learning rates and callbacks that count in optimizer steps, at another batch size."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.config.train import CallbackConfig, LearningRateScaling, Schedule, TrainConfig
from autotune.errors import ConfigError
from tests.worker import people

pytestmark = pytest.mark.slow

NONE = LearningRateScaling.none


def rate(train: TrainConfig, batch: int = 10, epochs: int = 2) -> Any:
    """The rate and the number of steps; 120 examples an epoch."""
    from autotune.worker.child.schedule import learning_rate

    candidate = people.candidate(batch=batch)
    recipe = people.recipe(candidate, people.config(train=train), epochs=epochs)
    return learning_rate(recipe, train, candidate), recipe.total_steps


def at(schedule: Any, step: int) -> float:
    return float(schedule(step))


def test_cosine_starts_at_the_rate_and_ends_at_zero() -> None:
    schedule, steps = rate(TrainConfig(batch_size=10, learning_rate=0.2))
    assert steps == 24
    assert at(schedule, 0) == pytest.approx(0.2)
    assert at(schedule, 12) == pytest.approx(0.1)
    assert at(schedule, 24) == pytest.approx(0.0, abs=1e-8)
    assert at(schedule, 23) > 0


def test_warm_up_rises_in_a_line_and_the_cosine_still_ends_at_zero() -> None:
    schedule, steps = rate(TrainConfig(batch_size=10, learning_rate=0.2, warmup_steps=4))
    assert [at(schedule, step) for step in range(5)] == pytest.approx([0.0, 0.05, 0.1, 0.15, 0.2])
    assert at(schedule, 4 + (steps - 4) // 2) == pytest.approx(0.1)
    assert at(schedule, steps) == pytest.approx(0.0, abs=1e-8)


def test_warm_up_is_as_many_examples_at_another_batch() -> None:
    train = TrainConfig(batch_size=10, learning_rate=0.2, warmup_steps=12, scaling=NONE)
    schedule, steps = rate(train, batch=40, epochs=5)
    assert steps == 15
    assert [at(schedule, step) for step in range(4)] == pytest.approx([0.0, 0.2 / 3, 0.4 / 3, 0.2])


def test_a_warm_up_longer_than_the_training_leaves_it_a_last_step() -> None:
    schedule, steps = rate(TrainConfig(batch_size=10, learning_rate=0.2, warmup_steps=1000))
    assert at(schedule, steps - 1) == pytest.approx(0.2)
    assert at(schedule, steps) == pytest.approx(0.0, abs=1e-8)


def test_a_constant_rate_is_a_number_that_follows_the_batch() -> None:
    train = TrainConfig(batch_size=10, learning_rate=0.2, schedule=Schedule.constant)
    assert rate(train)[0] == 0.2
    assert rate(train, batch=20)[0] == pytest.approx(0.4)  # linear for SGD


def test_step_boundaries_are_as_many_examples_at_another_batch() -> None:
    train = TrainConfig(
        batch_size=10, learning_rate=1.0, schedule=Schedule.step, step_boundaries=[4, 16], step_factor=0.5, scaling=NONE
    )
    own, halved = rate(train)[0], rate(train, batch=20)[0]
    assert [at(own, step) for step in (0, 4, 5, 16, 17)] == pytest.approx([1.0, 1.0, 0.5, 0.5, 0.25])
    assert [at(halved, step) for step in (0, 2, 3, 8, 9)] == pytest.approx([1.0, 1.0, 0.5, 0.5, 0.25])


def test_boundaries_that_fall_on_one_step_both_count() -> None:
    train = TrainConfig(
        batch_size=10, learning_rate=1.0, schedule=Schedule.step, step_boundaries=[4, 5], step_factor=0.5, scaling=NONE
    )
    schedule = rate(train, batch=60)[0]
    assert [at(schedule, step) for step in (0, 1, 2)] == pytest.approx([1.0, 1.0, 0.25])


def callbacks(step_args: list[str], batch: int = 40, target: str = "nets.Seen", **args: Any) -> Any:
    from autotune.worker.child.schedule import user_callbacks

    config = CallbackConfig(_target_=target, args=args, step_args=step_args)
    return user_callbacks(TrainConfig(batch_size=10, callbacks=[config]), people.candidate(batch=batch))


def test_a_callbacks_step_args_follow_the_batch_and_its_others_do_not() -> None:
    args = {"warm": 100, "marks": [10, 40, 1], "name": 100}
    made = callbacks(["warm", "marks"], **args)
    assert type(made[0]).made == [{"warm": 25, "marks": [2, 10, 1], "name": 100}]
    again = callbacks(["warm", "marks"], batch=10, **args)
    assert again[0] is not made[0]
    assert type(again[0]).made[-1] == args


@pytest.mark.parametrize(
    ("step_args", "args", "said"),
    [
        (["name"], {"warm": 1, "marks": [], "name": "epoch"}, "must name numbers of steps, but name is 'epoch'"),
        (["warm"], {"warm": 1}, "the callback nets.Seen cannot be made with its args: TypeError"),
    ],
)
def test_a_callback_that_cannot_be_made(step_args: list[str], args: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=r"callback") as caught:
        callbacks(step_args, **args)
    assert said in str(caught.value)


def resuming(backup_dir: str) -> Any:
    """A person's own way to make one."""
    import keras

    class Own(keras.callbacks.BackupAndRestore):
        pass

    return Own(backup_dir)


@pytest.mark.parametrize("target", ["keras.callbacks.BackupAndRestore", f"{__name__}.resuming"])
def test_a_callback_that_resumes_an_earlier_training_is_refused(target: str) -> None:
    with pytest.raises(ConfigError, match=r"must leave each training to start afresh, but got ") as caught:
        callbacks([], target=target, backup_dir="backup")
    assert f"{target}, which resumes an earlier one; remove it" in str(caught.value)
    assert "cannot be made" not in str(caught.value)
