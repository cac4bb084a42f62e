"""The next aligned layer widths upwards. Shrinking a model is another product, and so is changing the class count."""

from __future__ import annotations

import math
from collections.abc import Sequence

from autotune.trial import LeftOut


def aligned(width: int, multiple: int) -> int:
    """The smallest multiple that is not below the width."""
    return math.ceil(width / multiple) * multiple


def width_choices(
    own: Sequence[int],
    bounds: Sequence[Sequence[int]],
    multiples: Sequence[int],
    max_growth: float,
) -> tuple[tuple[tuple[int, ...], ...], tuple[LeftOut, ...]]:
    """The user's own widths, and each aligned variant of them.

    Args:
        own: the user's own widths.
        bounds: one (lowest, highest) a width; empty: none are searched.
        multiples: alignments worth trying, from the profile and the dtypes.
        max_growth: by how much any one width may grow (0.05 = 5 %); the parameters of the built model are recorded
            with each trial.

    Returns:
        The choices, the user's own first, and what was left out.
    """
    choices = [tuple(own)]
    seen = {tuple(own)}
    left_out: list[LeftOut] = []
    if not own or not bounds:
        return tuple(choices), ()
    for multiple in sorted(set(multiples)):
        if multiple <= 1:
            continue
        wide = tuple(aligned(width, multiple) for width in own)
        if wide in seen:
            continue
        seen.add(wide)
        name = f"widths {'-'.join(map(str, wide))} (multiples of {multiple})"
        outside = [w for w, (low, high) in zip(wide, bounds, strict=True) if not low <= w <= high]
        growth = max((w / o for w, o in zip(wide, own, strict=True)), default=1.0) - 1
        if outside:
            left_out.append(LeftOut(name, f"{outside[0]} is outside model.width_bounds"))
        elif growth > max_growth + 1e-9:  # 1024 / 1000 is a little above 1.024 in binary
            left_out.append(LeftOut(name, f"a width grows by {growth:.2%}, above search.max_growth ({max_growth:.2%})"))
        else:
            choices.append(wide)
    return tuple(choices), tuple(left_out)
