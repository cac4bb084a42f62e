"""`tradeoff.png`: the same plot as a picture, drawn without a display and without pyplot's global state."""

from __future__ import annotations

import logging
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from autotune.printable import printable
from autotune.report.symbols import STYLES
from autotune.report.tradeoff import Kind, Point, Tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE_INCH = (9.0, 6.6)
_DPI = 120
_CAPTION_COLUMNS = 118
_TITLE_COLUMNS, _TITLE_LINES = 56, 3  # beside the legend
_METRIC_COLUMNS, _METRIC_LINES = 46, 2  # along the axis
_UNPLOTTED = 3


def write_tradeoff_picture(content: Tradeoff, path: Path) -> None:
    """Draw the plot to a PNG file."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # where it keeps its cache is not a reader's concern
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE_INCH, dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    strip = bool(content.untrained)
    rows = figure.subplots(
        2 if strip else 1, 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": [6, 1] if strip else [1]}
    )
    top: Axes = rows[0, 0]
    _draw_front(top, content)
    for kind in Kind:
        _draw(top, content, kind, [point for point in content.trained if point.kind is kind])
        if strip:
            _draw(rows[1, 0], content, kind, [point for point in content.untrained if point.kind is kind])
    _label(top, rows[-1, 0], content)
    if strip:
        _label_strip(rows[1, 0])
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    figure.suptitle(_wrapped(content.title, _TITLE_COLUMNS, _TITLE_LINES), fontsize=12, x=0.01, ha="left")
    figure.supxlabel(_caption(content), fontsize=7.5, color="#444444", x=0.01, ha="left")
    with warnings.catch_warnings():
        # A name in a script that the font does not have is shown as boxes, and is told in full in the other files.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .*missing from", category=UserWarning)
        figure.savefig(path, format="png")


def _caption(content: Tradeoff) -> str:
    lines = [*content.caption, *(f"Not in the plot: {line}" for line in content.unplotted[:_UNPLOTTED])]
    if (more := len(content.unplotted) - _UNPLOTTED) > 0:
        lines.append(f"Not in the plot: {more} more without a measured {content.goal.label}")
    return "\n".join(_wrapped(line, _CAPTION_COLUMNS) for line in lines)


def _wrapped(text: str, columns: int, most_lines: int | None = None) -> str:
    """Lines that fit; what is beyond the last of them is left out, and said to be."""
    lines = textwrap.wrap(printable(text), columns, max_lines=most_lines, placeholder=" ...")
    return "\n".join(map(_plain, lines))


def _plain(text: str) -> str:
    """Printable text that the picture's own mathematics mode leaves alone."""
    return printable(text).replace("$", r"\$")


def _draw_front(axes: Axes, content: Tradeoff) -> None:
    x, y = zip(*content.front, strict=True)
    scaled = [value * content.measure.scale for value in y]
    axes.plot(x, scaled, color="#888888", linewidth=1.2, drawstyle="steps-pre", label="Pareto front", zorder=1)


def _draw(axes: Axes, content: Tradeoff, kind: Kind, points: list[Point]) -> None:
    style, scale = STYLES[kind], content.measure.scale
    named: set[str] = set()
    for point in points:
        y = point.metric * scale if point.metric is not None else 0.0
        filled = kind is Kind.BASELINE or point.judged
        axes.errorbar(
            [point.gain],
            [y],
            xerr=_bars(point.gain, point.gain_low, point.gain_high, 1.0),
            yerr=_bars(point.metric, point.metric_low, point.metric_high, scale),
            fmt=style.matplotlib,
            color=style.colour,
            markerfacecolor=style.colour if filled else "white",
            markersize=style.size * 0.75,
            elinewidth=0.9,
            capsize=2,
            linestyle="none",
            label=point.legend if point.legend not in named else None,
            zorder=3,
        )
        named.add(point.legend)
        axes.annotate(str(point.trial), (point.gain, y), xytext=(6, 5), textcoords="offset points", fontsize=8)


def _bars(middle: float | None, low: float | None, high: float | None, scale: float) -> list[list[float]] | None:
    if middle is None or low is None or high is None:
        return None
    return [[max(0.0, middle - low) * scale], [max(0.0, high - middle) * scale]]


def _label(top: Axes, bottom: Axes, content: Tradeoff) -> None:
    measure = content.measure
    unit = f" [{measure.unit}]" if measure.unit else ""
    direction = "" if measure.higher_is_better else ", lower is better"
    top.set_ylabel(_wrapped(f"{measure.name}{unit}{direction}", _METRIC_COLUMNS, _METRIC_LINES))
    bottom.set_xlabel(_plain(content.axis_text))
    for axes in {top, bottom}:
        axes.spines[["top", "right"]].set_visible(False)
    top.grid(color="#eeeeee")
    top.set_axisbelow(True)
    top.axvline(1.0, color="#bbbbbb", linewidth=1, linestyle=":")
    if content.limit is not None:
        limit = content.limit * measure.scale
        top.axhline(limit, color="#8a1c00", linewidth=1.2, linestyle="--", label=_plain(content.limit_text))
    low, high = (end * measure.scale for end in content.metric_range)
    top.set_ylim((low, high) if measure.higher_is_better else (high, low))


def _label_strip(axes: Axes) -> None:
    axes.set_ylim(-1, 1)
    axes.set_yticks([])
    axes.set_ylabel("no\naccuracy", fontsize=8)
    axes.axvline(1.0, color="#bbbbbb", linewidth=1, linestyle=":")
