"""Warm-up ends when blocks agree, and not when a count is reached."""

from __future__ import annotations

from itertools import count

import pytest

from autotune.worker.child.warmup import agree, warm_up


def warmed(step_ms: list[float], most_s: float = 1e9, block_s: float = 1.0) -> tuple[list[float], list[float]]:
    """What was taken, and what each block was told of the step time; a block takes `block_s` of the clock."""
    left, told = iter(step_ms), []

    def blocks_ms(last_ms: float, count: int) -> list[float]:
        told.extend([last_ms] * count)
        return [next(left) for _ in range(count)]

    first = next(left)
    return warm_up(blocks_ms, first, most_s, clock=lambda: block_s * len(told)), told


def test_it_goes_on_for_as_long_as_the_step_time_falls() -> None:
    falling = [100.0, 80.0, 65.0, 55.0, 50.0, 48.0, 47.0, 46.5, 46.0]
    taken, told = warmed(falling)
    assert taken == falling[:7], "47.5 is within 10 % of 50; 49 was not of 55"
    assert told == [100.0, *falling[:1], *falling[2:6]], "a block is as long as the step time before it asks for"


def test_a_steady_step_needs_three_blocks() -> None:
    assert warmed([10.0, 10.2, 9.9, 10.0])[0] == [10.0, 10.2, 9.9]


def test_one_slow_block_among_steady_ones_does_not_end_it() -> None:
    assert warmed([10.0, 20.0, 10.0, 10.1, 9.9])[0] == [10.0, 20.0, 10.0, 10.1, 9.9]


def test_steps_that_never_agree_end_with_the_time() -> None:
    wild = [10.0 * 2 ** (number % 2) for number in range(50)]
    assert len(warmed(wild, most_s=8.0)[0]) == 9  # the first, and a block for each second
    assert len(warmed(wild, most_s=0.0)[0]) == 3, "no fewer than can agree"


@pytest.mark.parametrize(
    ("step_ms", "settled"),
    [
        ([10, 10], False),
        ([10, 10, 11.9], True),
        ([10, 10, 12.1], False),
        ([10, 9, 8.9], False),
        ([10, 8, 10.5], True),
    ],
)
def test_the_median_of_two_is_compared_with_the_block_before(step_ms: list[float], settled: bool) -> None:
    assert agree(step_ms) is settled


def test_the_clock_is_asked_after_the_fewest_blocks_only() -> None:
    ticks = count()
    warm_up(lambda _, count: [10.0] * count, 10.0, most_s=0.0, clock=lambda: float(next(ticks)))
    assert next(ticks) == 1
