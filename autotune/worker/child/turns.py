"""The order in which blocks of two models are taken: A B B A A B ..., so that a drift falls on both alike.

Two blocks of one model that follow one another are taken in one `fit`, whose start and end cost half a block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

Take = Callable[[int], list[T]]
"""Takes so many blocks of one model, one after another."""


def in_turn(
    first: Take[T], second: Take[T], most: int, enough: Callable[[list[T], list[T]], bool]
) -> tuple[list[T], list[T]]:
    """Pairs of neighbouring blocks, until there are enough.

    What ends the sampling has looked at whole pairs alone. A block beyond the last pair, if there is one, is in none.

    Args:
        first, second: take blocks of either model; the first pair begins with a block of the first.
        most: pairs.
        enough: whether these are enough pairs; asked after each.
    """
    taken: tuple[list[T], list[T]] = ([], [])
    taken[0].extend(first(1))
    for pair in range(1, most + 1):
        side = pair % 2
        taken[side].extend((first, second)[side](2 if pair < most else 1))
        if pair == most or enough(taken[0][:pair], taken[1][:pair]):
            break
    return taken[0][:pair], taken[1][:pair]
