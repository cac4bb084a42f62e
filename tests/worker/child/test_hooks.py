"""A person's own callbacks in timed blocks: what acts in a step runs, what acts at the end of an epoch does not."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.worker import people

pytestmark = pytest.mark.slow


def stepper(*callbacks: Any, per_execution: int = 1) -> Any:
    from autotune.worker.child.blocks import Stepper
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed
    from autotune.worker.child.hooks import step_hooks

    config, candidate = people.config(), people.candidate(per_execution=per_execution)
    recipe = people.recipe(candidate, config)
    model = ModelBuilder(config, (4,), 3).build(candidate, recipe, 0).model
    batches = Feed(people.dataset().train, 0).batches(examples=120, batch_size=10, seed=0)
    return Stepper(model, batches, candidate, step_hooks(callbacks))


def seen(*hooks: str) -> tuple[Any, list[str]]:
    """A callback with these hooks, and what it was called for."""
    import keras

    calls: list[str] = []

    def noted(name: str) -> Any:
        return lambda self, *args, **kwargs: calls.append(name)

    return type("Seen", (keras.callbacks.Callback,), {hook: noted(hook) for hook in hooks})(), calls


def test_a_step_includes_what_the_persons_callbacks_do_in_it() -> None:
    import keras

    slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.02))
    early = keras.callbacks.LambdaCallback(on_train_batch_begin=lambda batch, logs: time.sleep(0.02))
    timed = stepper(slow, early)
    timed.first_step_s()
    assert timed.step_ms(3) > 40
    bare = stepper()
    bare.first_step_s()
    assert bare.step_ms(3) < 40


def test_a_hook_is_called_once_an_execution_and_the_training_begins_once() -> None:
    hooks = ("on_train_begin", "on_epoch_begin", "on_train_batch_begin", "on_train_batch_end", "on_epoch_end")
    callback, calls = seen(*hooks, "on_train_end")
    timed = stepper(callback, per_execution=4)
    timed.first_step_s()
    timed.step_ms(8)
    steps = ["on_train_batch_begin", "on_train_batch_end"] * (1 + 1 + 2)  # the first, a lead-in and two executions
    assert calls == ["on_train_begin", "on_epoch_begin", *steps]
    assert callback.model is timed.model
    assert callback.params["steps"] == 12


@pytest.mark.parametrize(
    "hook", ["on_train_begin", "on_epoch_begin", "on_epoch_end", "on_train_end", "on_test_batch_end"]
)
def test_a_callback_that_does_nothing_in_a_step_is_left_out(hook: str) -> None:
    callback, calls = seen(hook)
    timed = stepper(callback)
    timed.first_step_s()
    assert (timed.callbacks, calls) == ([], [])


def test_the_older_names_of_the_hooks_are_known() -> None:
    callback, calls = seen("on_batch_end")
    timed = stepper(callback)
    timed.first_step_s()
    assert calls == ["on_batch_end"]


def test_a_checkpoint_of_each_epoch_or_of_some_steps_saves_none_for_a_block(tmp_path: Path) -> None:
    import keras

    class Own(keras.callbacks.ModelCheckpoint):
        pass

    kept = tmp_path / "kept.keras"
    checkpoint = keras.callbacks.ModelCheckpoint
    timed = stepper(checkpoint(kept), checkpoint(kept, save_freq=1), Own(kept, save_freq=1))
    timed.first_step_s()
    timed.step_ms(12)
    assert (timed.callbacks, list(tmp_path.glob("*.keras"))) == ([], [])


def test_a_callback_that_would_end_the_training_does_not_shorten_a_block() -> None:
    import keras

    class Ends(keras.callbacks.Callback):
        calls = 0

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            Ends.calls += 1
            self.model.stop_training = True

    timed = stepper(Ends())
    timed.first_step_s()
    assert timed.step_ms(5) > 0
    assert Ends.calls == 1 + 1 + 5
