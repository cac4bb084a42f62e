"""The order in which blocks of two models are taken: A B B A A B B ..., so that a drift falls on both alike.

Two blocks of one model that follow one another are taken in one `fit`, whose start and end cost half a block. Four
would share them better, but their pairs are further apart: on a machine with other work the estimate of ten pairs was
off by twice as much (`cifar_mlp`: standard deviations of 6 and 3 %, 16 estimates each, in turn).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

Take = Callable[[int], list[T]]
"""Takes so many blocks of one model, one after another."""


def in_turn(
    first: Take[T], second: Take[T], fewest: int, most: int, enough: Callable[[list[T], list[T]], bool]
) -> tuple[list[T], list[T]]:
    """Pairs of neighbouring blocks, until there are enough.

    What ends the sampling has looked at whole pairs alone. A block beyond the last pair, if there is one, is in none.

    Args:
        first, second: take blocks of either model; the first pair begins with a block of the first.
        fewest: pairs with which sampling is expected to end: with so many, there is no block beyond the last pair.
        most: pairs.
        enough: whether these are enough pairs; asked after each.
    """
    taken: tuple[list[T], list[T]] = ([], [])
    pairs = 0
    for side in itertools.cycle((0, 1)):
        own, other = taken[side], taken[1 - side]
        up_to = min(len(other) + 1, most)
        if len(own) < fewest:
            up_to = min(up_to, fewest)
        if up_to > len(own):
            own.extend((first, second)[side](up_to - len(own)))
        complete = min(map(len, taken))
        if complete == most or (complete > pairs and enough(taken[0][:complete], taken[1][:complete])):
            break
        pairs = complete
    return taken[0][:complete], taken[1][:complete]
