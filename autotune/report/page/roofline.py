"""The roofline: what the device can do at most, by dtype, and what each trial's step reached of it."""

from __future__ import annotations

import math
from typing import Any

from autotune.explain.roofline import Ceiling, Roofline, RooflinePoint, measured_roofline
from autotune.record.view import StudyView
from autotune.report import figures, phrases
from autotune.report.measure import UNKNOWN
from autotune.report.page.markup import Html, Row, section, table, trial_link
from autotune.report.page.plots import GRID, Plot, Trace, chart_text, figure
from autotune.report.page.tradeoff import token
from autotune.report.tradeoff import Kind

IDENT = "roofline"

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
_DASHES = ("solid", "dash", "dot", "dashdot")
_COLOURS = ("--series-1", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6")
_ROOM = 2.5
"""How far the plot reaches beyond its points, as a factor."""


def roofline_section(view: StudyView) -> Html:
    """The plot; nothing where neither rates nor steps are known."""
    content = measured_roofline(view)
    if content is None or not content.points:
        return Html()
    return section(IDENT, "How near the device's limits", figure(plot_of(view, content)))


def plot_of(view: StudyView, content: Roofline) -> Plot:
    """The plot's content for the page."""
    low, high = _reach(content)
    dtypes = list(dict.fromkeys([*(c.dtype for c in content.ceilings), *(p.dtype for p in content.points)]))
    data = [_ceiling(content, one, dtypes.index(one.dtype), low, high) for one in content.ceilings]
    by_dtype = {dtype: [point for point in content.points if point.dtype == dtype] for dtype in dtypes}
    data += [_points(view, content, dtype, found, dtypes.index(dtype)) for dtype, found in by_dtype.items() if found]
    return Plot(
        ident=IDENT,
        summary=_summary(content),
        data=data,
        layout=_layout(content),
        table=table("Points of the roofline", _HEADER, [_row(view, content, point) for point in content.points]),
        captions=_captions(content),
    )


def _reach(content: Roofline) -> tuple[float, float]:
    """Where the lines begin and end [FLOP/byte]: around the points, and past every ridge."""
    at = [point.flop_per_byte for point in content.points]
    if content.bandwidth_gb_s:
        at += [ceiling.tflops * 1e3 / content.bandwidth_gb_s for ceiling in content.ceilings]
    return min(at) / _ROOM, max(at) * _ROOM


def _unit(content: Roofline) -> tuple[float, str]:
    """What a rate in TFLOP/s is multiplied with to be shown, and the unit: a CPU has no thousandth of it to show."""
    most = max([one.tflops for one in content.ceilings] + [point.tflops for point in content.points])
    return (1.0, "TFLOP/s") if most >= 1 else (1e3, "GFLOP/s")


def _rate(content: Roofline, tflops: float) -> str:
    scale, unit = _unit(content)
    return f"{tflops * scale:.3g} {unit}"


def _ceiling(content: Roofline, ceiling: Ceiling, number: int, low: float, high: float) -> Trace:
    x = [low, high]
    if content.bandwidth_gb_s:
        ridge = ceiling.tflops * 1e3 / content.bandwidth_gb_s
        x = [low, ridge, high]
    y = [_roof(content, ceiling, at) * _unit(content)[0] for at in x]
    rate = f"{chart_text(ceiling.dtype)}: {_rate(content, ceiling.tflops)}"
    return {
        "type": "scatter",
        "mode": "lines",
        "name": rate,
        "x": x,
        "y": y,
        "line": {"color": _COLOURS[number % len(_COLOURS)], "dash": _DASHES[number % len(_DASHES)], "width": 2},
        "hovertemplate": f"{rate}, {chart_text(ceiling.source)}<extra></extra>",
    }


def _roof(content: Roofline, ceiling: Ceiling, flop_per_byte: float) -> float:
    if not content.bandwidth_gb_s:
        return ceiling.tflops
    return min(ceiling.tflops, flop_per_byte * content.bandwidth_gb_s / 1e3)


def _points(view: StudyView, content: Roofline, dtype: str, points: list[RooflinePoint], number: int) -> Trace:
    winner = [_is_winner(view, point.trial) for point in points]
    colour = _COLOURS[number % len(_COLOURS)]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": f"trials in {chart_text(dtype)}",
        "x": [point.flop_per_byte for point in points],
        "y": [point.tflops * _unit(content)[0] for point in points],
        "text": [str(point.trial) for point in points],
        "textposition": "bottom center",
        "textfont": {"size": 12, "color": "--muted"},
        "marker": {
            "symbol": ["star" if won else _SYMBOLS[number % len(_SYMBOLS)] for won in winner],
            "size": [16 if won else 10 for won in winner],
            "color": [token(Kind.WINNER) if won else colour for won in winner],
        },
        "customdata": [point.trial for point in points],
        "hovertext": ["<br>".join(chart_text(line) for line in _details(view, content, point)) for point in points],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _is_winner(view: StudyView, number: int) -> bool:
    return number in view.trials and figures.is_winner(view, view.trials[number])


def _details(view: StudyView, content: Roofline, point: RooflinePoint) -> list[str]:
    trial = view.trials.get(point.trial)
    told = [f"trial {point.trial}" + (f": {trial.candidate}" if trial is not None else "")]
    told.append(f"{_rate(content, point.tflops)} at {point.flop_per_byte:.3g} FLOP/byte")
    if point.share is not None:
        told.append(f"{phrases.share(point.share)} of what the roof allows there")
    return told


def _layout(content: Roofline) -> dict[str, Any]:
    log = {**GRID, "type": "log", "exponentformat": "none"}
    return {
        "hovermode": "closest",
        "xaxis": {**log, "title": {"text": "FLOP per byte moved"}},
        "yaxis": {**log, "title": {"text": _unit(content)[1]}},
    }


def _summary(content: Roofline) -> str:
    told = [f"Roofline, both axes logarithmic; across: FLOP per byte moved, up: {_unit(content)[1]}."]
    told += [f"Ceiling in {one.dtype}: {_rate(content, one.tflops)}." for one in content.ceilings]
    if content.bandwidth_gb_s:
        told.append(f"Memory: {content.bandwidth_gb_s:.3g} GB/s.")
    shares = [(point.share, point.trial) for point in content.points if point.share is not None]
    if shares:
        (least, worst), (most, best) = min(shares), max(shares)
        ends = f"{phrases.share(least)} (trial {worst}) to {phrases.share(most)} (trial {best})"
        told.append(f"Trials reach from {ends} of the roof.")
    return " ".join(told)


def _captions(content: Roofline) -> tuple[str, ...]:
    """What the ceilings come from, and what a place in the plot means."""
    told = [f"{one.dtype}: {_rate(content, one.tflops)}, {one.source}." for one in content.ceilings]
    if content.bandwidth_gb_s:
        told.append(f"Memory: {content.bandwidth_gb_s:.3g} GB/s, {content.bandwidth_source}.")
    else:
        told.append("The memory's bandwidth is not known, so that the slanted part of the roof is missing.")
    told.append(
        "A point far below the roof waits for something else: the host, the input pipeline, kernels too small to fill"
        " the device. Bytes are what layers move when each pass reads and writes once."
    )
    return tuple(map(phrases.one_line, told))


_HEADER = ("trial", "setting", "dtype", "FLOP/byte", "reached", "of the roof")


def _row(view: StudyView, content: Roofline, point: RooflinePoint) -> Row:
    trial = view.trials.get(point.trial)
    return (
        trial_link(point.trial),
        str(trial.candidate) if trial is not None else UNKNOWN,
        point.dtype,
        f"{point.flop_per_byte:.3g}",
        _rate(content, point.tflops),
        UNKNOWN if point.share is None or math.isnan(point.share) else phrases.share(point.share),
    )
