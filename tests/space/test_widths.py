from __future__ import annotations

import numpy as np
import pytest

from autotune.space.widths import aligned, width_choices

OPEN = [[1, 10_000]]


@pytest.mark.parametrize(
    ("width", "multiple", "expected"),
    [(1000, 8, 1000), (1000, 16, 1008), (1000, 64, 1024), (3000, 64, 3008), (1, 128, 128), (7, 1, 7), (65, 64, 128)],
)
def test_aligned_upwards(width: int, multiple: int, expected: int) -> None:
    assert aligned(width, multiple) == expected


def test_an_aligned_width_is_the_smallest_multiple_that_is_not_below() -> None:
    rng = np.random.default_rng(0)
    for width, multiple in zip(rng.integers(1, 10_000, 300).tolist(), rng.integers(1, 300, 300).tolist(), strict=True):
        wide = aligned(width, multiple)
        assert wide % multiple == 0
        assert width <= wide < width + multiple


def test_the_users_own_widths_come_first_and_each_variant_once() -> None:
    choices, left_out = width_choices([3000, 1000], [[3000, 3200], [1000, 1088]], [64, 16, 8, 64, 32], 0.05)
    # 8 changes nothing; 32 and 64 give the same.
    assert choices == ((3000, 1000), (3008, 1008), (3008, 1024))
    assert left_out == ()


def test_no_bounds_or_no_widths_are_no_search() -> None:
    assert width_choices([1000], [], [64], 0.05) == (((1000,),), ())
    assert width_choices([], [], [64], 0.05) == (((),), ())


def test_a_multiple_of_one_is_no_alignment() -> None:
    assert width_choices([999], OPEN, [1], 0.05) == (((999,),), ())


def test_widths_outside_the_bounds_are_left_out_with_the_reason() -> None:
    choices, left_out = width_choices([3000, 1000], [[3000, 3200], [1000, 1010]], [64], 0.05)
    assert choices == ((3000, 1000),)
    assert [(entry.what, entry.reason) for entry in left_out] == [
        ("widths 3008-1024 (multiples of 64)", "1024 is outside model.width_bounds")
    ]


def test_the_bounds_themselves_are_within() -> None:
    assert width_choices([1000], [[1000, 1024]], [64], 0.05)[0] == ((1000,), (1024,))
    assert width_choices([1000], [[1024, 1100]], [64], 0.05)[0] == ((1000,), (1024,))


def test_widths_that_grow_too_much_are_left_out_with_the_reason() -> None:
    choices, left_out = width_choices([3000, 100], [*OPEN, *OPEN], [64], 0.05)  # 100 -> 128
    assert choices == ((3000, 100),)
    assert left_out[0].what == "widths 3008-128 (multiples of 64)"
    assert left_out[0].reason == "a width grows by 28.00%, above search.max_growth (5.00%)"


def test_growth_is_bounded_inclusively() -> None:
    assert width_choices([1000], OPEN, [64], 0.0241)[0] == ((1000,), (1024,))
    assert width_choices([1000], OPEN, [64], 0.0239)[0] == ((1000,),)
    assert width_choices([1000], OPEN, [64], 0.0)[0] == ((1000,),)


def test_a_growth_just_above_the_bound_does_not_read_like_the_bound() -> None:
    _, left_out = width_choices([1000], OPEN, [64], 0.0239)
    assert left_out[0].reason == "a width grows by 2.40%, above search.max_growth (2.39%)"


def test_growth_of_exactly_the_bound_is_within_it() -> None:
    assert width_choices([1000], OPEN, [64], 0.024)[0] == ((1000,), (1024,))


def test_what_is_left_out_is_named_once() -> None:
    _, left_out = width_choices([1000], [[1000, 1010]], [32, 64], 0.05)
    assert len({entry.what.split(" (")[0] for entry in left_out}) == len(left_out)


def test_never_narrower_never_outside_never_too_large() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        own = rng.integers(8, 4000, rng.integers(1, 4)).tolist()
        bounds = [[width, int(width * rng.uniform(1, 1.2))] for width in own]
        choices, left_out = width_choices(own, bounds, [4, 8, 16, 32, 64, 128], 0.1)
        assert choices[0] == tuple(own)
        assert len(set(choices)) == len(choices)
        for wide in choices:
            assert all(width <= w <= high for width, w, (_, high) in zip(own, wide, bounds, strict=True))
            assert all(w <= 1.1 * width + 1e-9 for width, w in zip(own, wide, strict=True))
        assert all(entry.reason for entry in left_out)
