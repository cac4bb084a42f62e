"""The step on a resident batch beside the fed one: what differs is the pipeline, and the model is left as it was."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from autotune.decide import pipeline as decided
from autotune.trial import Xla
from tests.worker import people

pytestmark = pytest.mark.slow


def warm(build: str = "nets.mlp", delay_s: float = 0.0, **candidate: Any) -> Any:
    """A stepper whose pipeline takes `delay_s` for a batch, once it has run."""
    import tensorflow as tf

    from autotune.worker.child.blocks import Stepper
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed

    config, asked = people.config(build=build), people.candidate(**candidate)
    model = ModelBuilder(config, (4,), 3).build(asked, people.recipe(asked, config), 0).model
    batches = Feed(people.dataset().train, 0).batches(examples=120, batch_size=asked.batch_size, seed=0)

    def wait(x: Any) -> Any:
        time.sleep(delay_s)
        return x

    def delayed(x: Any, y: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype), x.shape), y

    stepper = Stepper(model, batches.map(delayed) if delay_s else batches, asked)
    stepper.first_step_s()
    return stepper


def test_a_pipeline_that_is_all_of_a_step_shows_as_such() -> None:
    from autotune.worker.child.pipeline import time_pipeline

    timed = time_pipeline(warm(delay_s=0.02), steps=4, block_s=0.05, step_ms=20, compile_s=0.1)
    assert timed is not None
    assert 6 <= len(timed.fed_step_ms) == len(timed.resident_step_ms) <= 10
    assert min(timed.fed_step_ms) > 15
    share = decided.share(timed)
    assert share is not None
    assert 0.5 < share.low < share.high < 1


@pytest.mark.parametrize(
    ("policy", "xla", "per_execution"), [("float32", Xla.OFF, 1), ("float32", Xla.ON, 1), ("mixed_float16", Xla.OFF, 4)]
)
def test_the_model_is_left_as_it_was_and_goes_on_learning_from_its_input(
    policy: str, xla: Xla, per_execution: int
) -> None:
    from autotune.worker.child.pipeline import time_pipeline

    stepper = warm(policy=policy, xla=xla, per_execution=per_execution)
    model = stepper.model
    function, step = model.train_function, model.train_step
    assert time_pipeline(stepper, steps=8, block_s=0.01, step_ms=1, compile_s=0.1) is not None
    assert model.train_function is function
    assert model.train_step == step
    model.fit(stepper.batches.repeat(), epochs=1, steps_per_epoch=12, verbose=0, shuffle=False)
    assert model.train_function is function, "nothing was traced again"


def test_the_resident_step_trains_on_one_batch_alone() -> None:
    """With all of a batch in class 1, and only such batches resident, the model comes to say class 1."""
    import tensorflow as tf

    from autotune.worker.child.blocks import Stepper
    from autotune.worker.child.pipeline import _resident

    fed = warm()
    batches = fed.batches.map(lambda x, y: (x, tf.ones_like(y)))
    side = _resident(Stepper(fed.model, batches, fed.candidate), block_s=0.01)
    for _ in range(4):
        side.stepper.step_ms(100)
    assert side.function is fed.model.train_function
    predicted = fed.model.predict(people.dataset().test.x, verbose=0)
    assert np.mean(predicted.argmax(axis=-1) == 1) == 1.0


def test_what_would_take_too_long_is_not_begun(capsys: pytest.CaptureFixture[str]) -> None:
    from autotune.worker.child.pipeline import _fewest_s, time_pipeline

    stepper = warm(per_execution=4)
    function = stepper.model.train_function
    stepper.model.make_train_function = lambda force=False: pytest.fail("it was compiled")
    # A block of 8 fed steps, one of 4 resident ones, and a lead-in of 4 steps for every two blocks; six times.
    assert _fewest_s(stepper, 8, 0.1, 50) == pytest.approx(6 * 16 * 0.05)
    assert time_pipeline(stepper, steps=8, block_s=0.1, step_ms=50, compile_s=8) is None
    assert "6 pairs of blocks and another compilation would take 13 s, above 12 s" in capsys.readouterr().err
    assert time_pipeline(stepper, steps=8, block_s=0.1, step_ms=126, compile_s=0) is None
    assert stepper.model.train_function is function


def test_a_model_that_makes_its_own_train_function_is_not_timed_and_not_harmed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from autotune.worker.child.pipeline import time_pipeline

    stepper = warm()
    function = stepper.model.train_function

    def refuse(force: bool = False) -> None:
        if force:
            raise RuntimeError("made once and for all")

    stepper.model.make_train_function = refuse
    assert time_pipeline(stepper, steps=4, block_s=0.01, step_ms=1, compile_s=0.1) is None
    assert "made once and for all" in capsys.readouterr().err
    assert stepper.model.train_function is function
    assert stepper.step_ms(4) > 0
