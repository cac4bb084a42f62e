"""The constraint's metric as a reader wants it: with its unit, and with the better direction known."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config.constraint import SHARE_METRICS
from autotune.record.view import StudyView
from autotune.trial import Interval, Stage

UNKNOWN = "-"
"""Shown where a quantity could not be had; never a zero."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric.

    Attributes:
        name: as the configuration calls it.
        higher_is_better: its better direction.
        margin: how far it may fall, absolute, in its own unit; `None` before a study has started, and for a relative
            one before the baseline was trained.
        relative_margin: the margin as a share of float32's own metric, where it was given so.
    """

    name: str = "accuracy"
    higher_is_better: bool = True
    margin: float | None = None
    relative_margin: float | None = None

    @classmethod
    def of(cls, view: StudyView) -> Measure:
        """The metric of a study's constraint."""
        if view.started is None:
            return cls()
        constraint = view.started.config.get("constraint", {})
        margin, relative = constraint.get("margin"), None
        if constraint.get("relative") and margin is not None:
            reference = view.baseline.metric(Stage.BASELINE) if view.baseline is not None else None
            relative, margin = margin, margin * abs(reference) if reference is not None else None
        return cls(
            name=str(constraint.get("metric", "accuracy")),
            higher_is_better=constraint.get("direction", "higher") == "higher",
            margin=margin,
            relative_margin=relative,
        )

    @property
    def direction(self) -> str:
        """The better one, as the configuration calls it."""
        return "higher" if self.higher_is_better else "lower"

    @property
    def is_share(self) -> bool:
        """Whether it is a fraction that people read as per cent."""
        return self.name in SHARE_METRICS

    @property
    def scale(self) -> float:
        """From the metric's own unit to the one shown."""
        return 100.0 if self.is_share else 1.0

    @property
    def unit(self) -> str:
        """Of a value as shown."""
        return "%" if self.is_share else ""

    @property
    def delta_unit(self) -> str:
        """Of a difference as shown: percentage points for an accuracy."""
        return "pp" if self.is_share else ""

    def value(self, value: float | None) -> str:
        """`44.20 %`, or four significant digits of another metric."""
        if value is None:
            return UNKNOWN
        return f"{value * 100:.2f} %" if self.is_share else f"{value:.4g}"

    def delta(self, delta: float | None) -> str:
        """`-0.18 pp`, always with its sign; above zero is better, whichever way the metric goes."""
        return UNKNOWN if delta is None else _with_unit(self._signed(delta), self.delta_unit)

    def delta_interval(self, interval: Interval) -> str:
        """`-0.18 pp [-0.52, +0.16]`."""
        return f"{self.delta(interval.estimate)} [{self._signed(interval.low)}, {self._signed(interval.high)}]"

    @property
    def orientation(self) -> str:
        """What a text says beside a difference whose sign is not that of the metric's own change; else nothing."""
        return "" if self.higher_is_better else " (above zero is better)"

    def size(self, difference: float | None) -> str:
        """A difference without a sign, such as a margin: `1.00 pp`."""
        if difference is None:
            return UNKNOWN
        text = f"{difference * 100:.2f}" if self.is_share else f"{difference:.4g}"
        return _with_unit(text, self.delta_unit)

    def allowance(self, margin: float | None = None) -> str:
        """The margin: `1.00 pp`, or `2 % of float32's own (0.88 pp)`; of a judgement's own size where that is given."""
        size = self.size(self.margin if margin is None else margin)
        if self.relative_margin is None:
            return size
        share = f"{self.relative_margin * 100:.3g} % of float32's own"
        return share if size == UNKNOWN else f"{share} ({size})"

    def shifted(self, reference: float, delta: float) -> float:
        """The metric that lies `delta` (higher is better) from a reference."""
        return reference + delta if self.higher_is_better else reference - delta

    def _signed(self, delta: float) -> str:
        return f"{delta * 100:+.2f}" if self.is_share else f"{delta:+.3g}"


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}".rstrip()
