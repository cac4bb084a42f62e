"""Blocks of steps: their length, what is timed and what is not."""

from __future__ import annotations

import time
from typing import Any

import pytest

from autotune.errors import TrialFault
from autotune.trial import BlockConditions, FailureKind
from tests.worker import people
from tests.worker.child.test_hooks import stepper

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("block_s", "step_ms", "per_execution", "steps"),
    [(0.1, 10.0, 1, 10), (0.1, 9.9, 1, 11), (0.1, 10.0, 4, 12), (0.1, 300.0, 1, 1), (0.1, 300.0, 8, 8)],
)
def test_a_block_lasts_at_least_as_long_as_asked(
    block_s: float, step_ms: float, per_execution: int, steps: int
) -> None:
    assert stepper(per_execution=per_execution).steps_for(block_s, step_ms) == steps


def test_a_block_takes_just_its_steps_and_one_lead_in() -> None:
    timed = stepper(per_execution=2)
    timed.first_step_s()
    timed.blocks(6, 1)
    assert int(timed.model.optimizer.iterations.numpy()) == 2 + 2 + 6
    assert 0 < timed.loss < 10


def test_blocks_that_follow_one_another_share_a_fit_and_its_lead_in() -> None:
    timed = stepper()
    timed.first_step_s()
    fits: list[int] = []
    fit = timed.model.fit
    timed.model.fit = lambda *args, **asked: (fits.append(asked["steps_per_epoch"]), fit(*args, **asked))
    assert len(timed.blocks(4, 3)) == 3
    assert fits == [1 + 3 * 4]


def test_blocks_of_one_execution_have_no_lead_in_and_their_pause_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    from autotune.worker.child import blocks

    monkeypatch.setattr(blocks, "_SHORTEST_PAUSE_S", 0.5)
    timed = stepper(per_execution=2)
    timed.first_step_s()
    began = time.perf_counter()
    taken = timed.blocks(2, 2)
    whole_s = time.perf_counter() - began
    assert int(timed.model.optimizer.iterations.numpy()) == 2 + 2 * 2
    assert sum(block.step_ms * 2 for block in taken) / 1e3 < whole_s - 0.5


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_a_fit_that_does_not_run_its_steps_says_so() -> None:
    from autotune.worker.child.blocks import Stepper

    bare = stepper()
    empty = Stepper(bare.model, bare.batches.take(0), people.candidate())
    with pytest.raises(TrialFault, match=r"`fit` ran no training steps instead of 1, so that") as caught:
        empty.first_step_s()
    assert caught.value.kind is FailureKind.INVALID
    fit = bare.model.fit
    bare.model.fit = lambda *args, **asked: fit(*args, **(asked | {"steps_per_epoch": 3}))
    with pytest.raises(TrialFault, match=r"`fit` ran 3 training steps instead of 5"):
        bare.blocks(4, 1)


def test_conditions_are_read_around_the_timed_part_and_not_within_it() -> None:
    from autotune.worker.child.blocks import Stepper

    read: list[tuple[str, int]] = []

    class Slow:
        def begin(self) -> None:
            read.append(("begin", int(model.optimizer.iterations.numpy())))
            time.sleep(0.2)

        def end(self) -> BlockConditions:
            read.append(("end", int(model.optimizer.iterations.numpy())))
            time.sleep(0.2)
            return BlockConditions(preemptions=len(read))

    bare = stepper()
    model: Any = bare.model
    timed = Stepper(model, bare.batches, people.candidate(), watch=Slow())  # type: ignore[arg-type]
    bare.first_step_s()
    blocks = timed.blocks(4, 2)
    assert read == [("begin", 2), ("end", 6), ("begin", 6), ("end", 10)]
    assert max(block.step_ms for block in blocks) * 4 < 200
    assert [block.conditions for block in blocks] == [BlockConditions(preemptions=2), BlockConditions(preemptions=4)]


def test_waiting_for_an_idle_device_is_far_shorter_than_a_block() -> None:
    timed = stepper()
    timed.first_step_s()
    assert 0 < timed.sync_ms() < 5
