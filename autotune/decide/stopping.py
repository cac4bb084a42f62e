"""When a training of the verify stage may end early: its metric at a middle evaluation is hopelessly behind float32's.

A deficit in the middle is mostly made up by the end: a larger batch starts slower, and a schedule that settles lifts
all. Measured on two CPU cores (digits_mlp at 1,024 examples x 6 epochs, cifar_mlp at 4,096 x 6, batches of 1 to 16
times the user's own, float32 and mixed_bfloat16; all of it is in `tests/decide/learning_curves.py`), with P for what
the baseline has learned by the middle, its metric there less that of a model that guesses:

    those that ended within one margin (0.01) trailed by up to 0.21 P in the middle
    of those that trailed by more than that the best ended 2.2 margins behind, most of them 5 to 12

A threshold on the deficit alone, or on the baseline's own gain in the second half (often nothing: it has settled),
would stop slow starters that end equal. So a training is stopped where its deficit is above

    -needed + LAG * P + NOISE * noise

needed: the difference at the end below which the gate is lost, at or below minus the margin. LAG: what a slow starter
may trail by and still make up, 1.4 times the most that was seen. noise: the baseline's own standard deviation at that
evaluation over its seeds; two unrelated runs differ by 1.4 of them, and three seeds know it badly. Where the baseline
has not learned more than `_LEARNED` times the noise by then, nothing is stopped.

Assumed: a candidate that ends equal trails by no more than 0.21 P in the middle, and its metric there varies as the
baseline's does. `tests/decide/test_stopping.py` simulates such candidates: at most ERROR of them are stopped, and none
of those that were measured and ended within the margin. One that learns nothing for half of the training and
everything afterwards would be stopped. A training that was stopped has no metric at the end: it speaks against its
candidate and is evidence for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from autotune.decide.accuracy import spread
from autotune.trial import EarlyStop, EpochPoint

ERROR = 0.01
"""Share of candidates without any loss that are stopped at most."""

LAG = 0.3
NOISE = 4.0
_LEARNED = 10.0

_FEWEST_CURVES = 2


def early_stops(
    own: Sequence[EpochPoint],
    curves: Sequence[Sequence[EpochPoint]],
    *,
    needed: float,
    untrained: float,
    higher: bool,
) -> tuple[EarlyStop, ...]:
    """Where a candidate's training on the seed of `own` is stopped, and below what; none where nothing can be said.

    Args:
        own: the baseline's curve on the same seed.
        curves: the baseline's on all its seeds, that one among them.
        needed: least difference at the end, candidate less baseline and higher is better, that is still worth it; at
            most 0.
        untrained: what the metric of a model is that has learned nothing.
        higher: whether a higher metric is better.
    """
    sign = 1 if higher else -1
    found = []
    for point in own[:-1]:
        noise = _noise(curves, point.epoch)
        if point.metric is None or noise is None:
            continue
        progress = sign * (point.metric - untrained)
        allowed = -needed + LAG * max(0.0, progress) + NOISE * noise
        if progress > max(allowed, _LEARNED * noise):  # else one that has learned nothing would not be stopped
            found.append(EarlyStop(point.epoch, point.metric - sign * allowed, higher))
    return tuple(found)


def _noise(curves: Sequence[Sequence[EpochPoint]], epoch: int) -> float | None:
    """Standard deviation of the baseline's metric after an epoch, over its seeds; None where too few were evaluated."""
    values = [point.metric for curve in curves for point in curve if point.epoch == epoch and point.metric is not None]
    if len(values) < _FEWEST_CURVES or len(values) < len(curves):
        return None
    return spread(values) if all(map(math.isfinite, values)) else None
