"""Blocks of two models, in an order in which neither is always the earlier one."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from autotune.worker.child.turns import in_turn


def taking(name: str, asked: list[str]) -> Callable[[int], list[int]]:
    """Numbers its blocks, and notes each `fit`."""
    numbers = itertools.count()

    def take(count: int) -> list[int]:
        asked.append(name * count)
        return [next(numbers) for _ in range(count)]

    return take


@pytest.mark.parametrize(
    ("fewest", "most", "fits"),
    [
        (1, 1, "a b"),
        (1, 4, "a b a bb aa b"),
        (2, 2, "a bb a"),
        (3, 3, "a bb aa b"),
        (4, 4, "a bb aa bb a"),
        (5, 5, "a bb aa bb aa b"),
        (3, 5, "a bb aa b a bb a"),
    ],
)
def test_neighbours_of_one_model_share_a_fit_and_none_is_beyond_the_last_pair(
    fewest: int, most: int, fits: str
) -> None:
    asked: list[str] = []
    pairs = in_turn(taking("a", asked), taking("b", asked), fewest, most, lambda a, b: False)
    assert asked == fits.split()
    assert pairs == (list(range(most)), list(range(most)))


@pytest.mark.parametrize(("ends_with", "fits"), [(2, "a bb aa"), (4, "a bb aa bb a"), (5, "a bb aa bb a b aa")])
def test_the_rule_sees_whole_pairs_alone_and_what_is_beyond_them_is_left(ends_with: int, fits: str) -> None:
    seen: list[tuple[int, int]] = []
    asked: list[str] = []

    def enough(a: list[int], b: list[int]) -> bool:
        seen.append((len(a), len(b)))
        return len(a) == ends_with

    pairs = list(range(ends_with))
    assert in_turn(taking("a", asked), taking("b", asked), 4, 9, enough) == (pairs, pairs)
    assert seen == [(n, n) for n in range(1, ends_with + 1)]
    assert asked == fits.split()
