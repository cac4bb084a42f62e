"""The Pareto front of points whose two coordinates are both better when higher."""

from __future__ import annotations

import math
from collections.abc import Sequence


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the points that no other beats, in order of the first coordinate, ascending.

    A point is beaten by one that is at least as good in both coordinates and better in one; equal points do not beat
    each other.

    Raises:
        ValueError: a coordinate is not finite. A trial without a figure has no place in the comparison.
    """
    if bad := [point for point in points if not all(map(math.isfinite, point))]:
        raise ValueError(f"a point of the front must be finite, but got {bad[0]}")
    descending = sorted(range(len(points)), key=lambda i: points[i], reverse=True)
    front: list[int] = []
    best = -math.inf
    for index in descending:
        second = points[index][1]
        # At one and the same first coordinate the best second comes first, so an equal one that follows is a duplicate.
        duplicate = bool(front) and points[index] == points[front[-1]]
        if second > best or duplicate:
            front.append(index)
            best = max(best, second)
    return front[::-1]
