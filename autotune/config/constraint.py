"""`constraint=...`: what "not less accurate than float32" means."""

import enum
import math
from dataclasses import dataclass, field
from typing import Any, Dict

from autotune.config.checks import require

SHARE_METRICS = ("accuracy", "error")
"""Metrics that are a share of the examples: people read them in per cent, and differences in percentage points."""


class Direction(enum.Enum):
    """Whether a higher or a lower metric is better."""

    higher = "higher"
    lower = "lower"


@dataclass
class ConstraintConfig:
    """Non-inferiority to float32.

    Attributes:
        metric: name under which the metric is recorded, such as accuracy.
        _target_: dotted name of a function `metric(y_true, y_pred) -> float` on the whole validation part; `y_pred` is
            the model's float32 output, of shape (examples, ...), or (examples,) where it has one column.
        args: further keyword arguments of it.
        direction: whether higher or lower is better.
        margin: how far the metric may be worse than float32's, absolute, in the metric's own unit (0.01 = one
            percentage point of accuracy).
        relative: whether the margin is a share of float32's own metric instead (0.01 = one per cent of it).
        seeds: seeds on which the verdict looks first: 3 and then up to 5, or up to 7 when the baseline is noisy.
        max_skipped_share: share of optimizer steps that a loss scaler may skip before the trial fails.
    """

    metric: str = "accuracy"
    _target_: str = "autotune.worker.metrics.accuracy"
    args: Dict[str, Any] = field(default_factory=dict)
    direction: Direction = Direction.higher
    margin: float = 0.01
    relative: bool = False
    seeds: int = 3
    max_skipped_share: float = 0.2

    def __post_init__(self) -> None:
        require(
            math.isfinite(self.margin) and self.margin > 0,
            "constraint.margin must be a number above zero",
            self.margin,
            "0.01 allows one percentage point of accuracy; no test can show a difference of exactly zero",
        )
        require(
            not self.relative or self.margin < 1,
            "constraint.margin with constraint.relative=true is a share below 1",
            self.margin,
            "write 0.01 for one per cent of float32's own metric",
        )
        require(
            self.metric not in SHARE_METRICS or self.margin < 1,
            f"constraint.margin for {self.metric} is a fraction below 1",
            self.margin,
            "write 0.01 for one percentage point",
        )
        require(self.seeds >= 3, "constraint.seeds must be at least 3", self.seeds, "a spread needs three runs")
        require(
            0 < self.max_skipped_share <= 1, "constraint.max_skipped_share must be in (0, 1]", self.max_skipped_share
        )
