"""Speed (or another objective) against accuracy: every point with its interval, the constraint, the Pareto front."""

from __future__ import annotations

from typing import Any

from autotune.record.view import StudyView
from autotune.report import phrases
from autotune.report.measure import UNKNOWN
from autotune.report.page.markup import Html, Row, items, paragraphs, section, table, trial_link
from autotune.report.page.plots import GRID, Plot, Trace, chart_text, figure, metric_title
from autotune.report.symbols import STYLES
from autotune.report.tradeoff import Kind, Point, Tradeoff, tradeoff
from autotune.trial import Stage

IDENT = "tradeoff"

_NO_PLOT = (
    "There is no plot: the study ended before its baseline was both timed and trained, so that nothing can be"
    " compared with it."
)


def tradeoff_section(view: StudyView) -> Html:
    """The plot, or why there is none."""
    content = tradeoff(view)
    if content is None:
        return section(IDENT, "Speed against accuracy", paragraphs([_NO_PLOT], class_="missing"))
    label = content.goal.label
    title = f"{label[:1].upper()}{label[1:]} against {phrases.one_line(content.measure.name)}"
    unplotted: list[str] = []
    if content.unplotted:
        unplotted = [
            paragraphs([f"Without a measured {label}, and so not in the plot:"]),
            items(content.unplotted),
        ]
    return section(IDENT, title, figure(plot_of(content)), *unplotted)


def plot_of(content: Tradeoff) -> Plot:
    """The plot's content for the page."""
    strip = bool(content.untrained)
    data = [_front(content)]
    for kind in Kind:
        data += _of_kind(content, kind)
    points = (*content.trained, *content.untrained)
    return Plot(
        ident=IDENT,
        summary=_summary(content),
        data=data,
        layout=_layout(content, strip),
        table=table("Points of the plot", _header(content), [_row(content, point) for point in points]),
        captions=(
            *(line for line in content.caption if not line.startswith("WARNING")),
            "Click on a point, or follow its number in the table below, to see its trial.",
        ),
    )


def _of_kind(content: Tradeoff, kind: Kind) -> list[Trace]:
    """One trace for what has an accuracy, and one for each reason why others have none: each has a name of its own."""
    untrained = [point for point in content.untrained if point.kind is kind]
    groups = [
        ("y", [point for point in content.trained if point.kind is kind]),
        *(("y2", [point for point in untrained if point.stopped_early is early]) for early in (False, True)),
    ]
    return [_scatter(content, kind, points, axis) for axis, points in groups if points]


def _scatter(content: Tradeoff, kind: Kind, points: list[Point], axis: str) -> Trace:
    style, scale, colour = STYLES[kind], content.measure.scale, token(kind)
    solid = kind is Kind.BASELINE or style.plotly.endswith("-thin")
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": points[0].legend,
        "x": [point.gain for point in points],
        "y": [point.metric * scale if point.metric is not None else 0.0 for point in points],
        "yaxis": axis,
        "text": [str(point.trial) for point in points],
        "textposition": "top right",
        "textfont": {"size": 12, "color": "--muted"},
        "marker": {
            "symbol": [style.plotly if solid or point.judged else f"{style.plotly}-open" for point in points],
            "size": style.size,
            "color": colour,
            "line": {"width": 2, "color": colour},
        },
        "error_x": _bars([(p.gain, p.gain_low, p.gain_high) for p in points], 1.0, colour),
        "error_y": _bars([(p.metric, p.metric_low, p.metric_high) for p in points], scale, colour),
        "customdata": [point.trial for point in points],
        "hovertext": ["<br>".join(chart_text(line) for line in point.details if line) for point in points],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def token(kind: Kind) -> str:
    """The variable of `report.css` that holds the colour of such points."""
    return f"--{kind.name.lower()}"


def _bars(values: list[tuple[float | None, float | None, float | None]], scale: float, colour: str) -> dict[str, Any]:
    """Asymmetric error bars; none where an interval is missing."""
    above = [(high - mid) * scale if mid is not None and high is not None else None for mid, _, high in values]
    below = [(mid - low) * scale if mid is not None and low is not None else None for mid, low, _ in values]
    visible = any(bar is not None for bar in above)
    return {"type": "data", "array": above, "arrayminus": below, "visible": visible, "thickness": 1, "color": colour}


def _front(content: Tradeoff) -> Trace:
    x, y = zip(*content.front, strict=True)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Pareto front",
        "x": list(x),
        "y": [value * content.measure.scale for value in y],
        "yaxis": "y",
        # Down at a point, then across: between two points the better accuracy belongs to the faster one.
        "line": {"shape": "vh", "color": "--muted", "width": 1.5},
        "hoverinfo": "skip",
    }


_STRIP = {
    **GRID,
    "title": {"text": "no<br>accuracy"},
    "showticklabels": False,
    "showgrid": False,
    "range": [-1, 1],
    "domain": [0.0, 0.14],
}
"""The axis of what has no accuracy: its points lie side by side below the plot, at none."""


def _layout(content: Tradeoff, strip: bool) -> dict[str, Any]:
    measure = content.measure
    ends = [end * measure.scale for end in content.metric_range]
    layout: dict[str, Any] = {
        "hovermode": "closest",
        "xaxis": {
            **GRID,
            "title": {"text": chart_text(content.axis_text)},
            "ticksuffix": "x",
            "anchor": "y2" if strip else "y",
        },
        "yaxis": {
            **GRID,
            "title": {"text": metric_title(measure)},
            "range": ends if measure.higher_is_better else ends[::-1],
            "domain": [0.18, 1.0] if strip else [0.0, 1.0],
        },
        "shapes": [_line({"x0": 1.0, "x1": 1.0, "yref": "paper", "y0": 0, "y1": 1}, "--muted", "dot")],
    }
    if strip:
        layout["yaxis2"] = _STRIP
    if content.limit is not None:
        limit = content.limit * measure.scale
        layout["shapes"].append(_line({"xref": "paper", "x0": 0, "x1": 1, "y0": limit, "y1": limit}, "--limit", "dash"))
        layout["annotations"] = [_limit_text(content, limit)]
    return layout


def _limit_text(content: Tradeoff, limit: float) -> dict[str, Any]:
    """On the side of the line where what misses it lies."""
    return {
        "xref": "paper",
        "x": 1,
        "y": limit,
        "xanchor": "right",
        "yanchor": "top",
        "text": chart_text(content.limit_text),
        "showarrow": False,
        "font": {"color": "--limit"},
    }


def _line(ends: dict[str, Any], colour: str, dash: str) -> dict[str, Any]:
    return {"type": "line", **ends, "line": {"color": colour, "width": 1.5, "dash": dash}, "layer": "below"}


def _summary(content: Tradeoff) -> str:
    """What the plot shows, in words."""
    measure = content.measure
    told = [f"Scatter plot, across: {content.axis_text}; up: {measure.name}."]
    told += [f"{content.limit_text[:1].upper()}{content.limit_text[1:]}."] if content.limit is not None else []
    on_front = [point for point in content.trained if (point.gain, point.metric) in content.front]
    told += [
        f"On the Pareto front: trial {point.trial}, {point.legend}, {_gain(point)}, {_metric(content, point)}."
        for point in on_front
    ]
    more = len(content.trained) - len(on_front)
    told.append(f"{more} more trained points, {len(content.untrained)} without an accuracy.")
    return " ".join(told)


def _header(content: Tradeoff) -> Row:
    return ("trial", "what", f"{content.goal.label}, gain", content.measure.name, "from")


def _row(content: Tradeoff, point: Point) -> Row:
    return (trial_link(point.trial), point.legend, _gain(point), _metric(content, point), _source(point))


def _source(point: Point) -> str:
    """Where its speed and its accuracy are from."""
    if point.kind is Kind.BASELINE:
        return "the baseline"
    speed = "fresh processes" if point.speed_from is Stage.CONFIRM else "screening"
    if point.metric is None:
        return speed
    return f"{speed}, {'new seeds' if point.judged else 'few seeds'}"


def _gain(point: Point) -> str:
    if point.gain_low is None or point.gain_high is None:
        return f"{point.gain:.2f}x"
    return f"{point.gain:.2f}x [{point.gain_low:.2f}, {point.gain_high:.2f}]"


def _metric(content: Tradeoff, point: Point) -> str:
    measure = content.measure
    if point.metric is None:
        return UNKNOWN
    value = measure.value(point.metric)
    if point.metric_low is None or point.metric_high is None:
        return value
    return f"{value} [{measure.value(point.metric_low)}, {measure.value(point.metric_high)}]"
