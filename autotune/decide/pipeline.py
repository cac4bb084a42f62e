"""Whether a training waits for its input: the share of a step that the input pipeline takes."""

from __future__ import annotations

from autotune.decide import timing
from autotune.trial import Interval, PipelineTiming


def share(timed: PipelineTiming) -> Interval | None:
    """One less the step time on a resident batch over the step time with the pipeline, from their pairs.

    0 means that the pipeline costs nothing, 0.5 that the step would take half as long if its batch were there already;
    noise may push it a little below 0.

    Returns:
        `None` with fewer pairs than an interval needs.
    """
    ratios = timing.log_ratios(timed.resident_step_ms, timed.fed_step_ms, 1, 1)
    try:
        left = timing.speedup(ratios)
    except ValueError:
        return None
    return Interval(
        estimate=1 - left.estimate,
        low=1 - left.high,
        high=1 - left.low,
        level=left.level,
        n=left.n,
        method="1 - resident / fed step time; " + left.method,
    )
