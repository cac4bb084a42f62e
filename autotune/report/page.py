"""`tradeoff.html`: the interactive plot. One file that holds its own script and works without a network."""

from __future__ import annotations

import html
from typing import Any

from autotune.report.symbols import STYLES
from autotune.report.tradeoff import Kind, Point, Tradeoff

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; }}
body {{ margin: 1.5rem auto; max-width: 68rem; padding: 0 1rem; }}
h1 {{ font-size: 1.3rem; margin: 0 0 .3rem; }}
p {{ margin: .2rem 0; color: #444; }}
p.warning {{ color: #8a1c00; font-weight: 600; }}
li {{ overflow-wrap: anywhere; }}
</style>
</head>
<body>
<h1>{title}</h1>
{caption}
{plot}
{unplotted}
</body>
</html>
"""


def tradeoff_page(content: Tradeoff) -> str:
    """The whole page; every text of a person's own is escaped."""
    plot = _figure(content).to_html(
        full_html=False, include_plotlyjs=True, div_id="tradeoff", config={"displaylogo": False, "responsive": True}
    )
    caption = "\n".join(_paragraph(line) for line in content.caption)
    unplotted = ""
    if content.unplotted:
        items = "".join(f"<li>{html.escape(line)}</li>" for line in content.unplotted)
        unplotted = f"<p>Without a measured {content.goal.label}, and so not in the plot:</p>\n<ul>{items}</ul>"
    return _PAGE.format(title=html.escape(content.title), caption=caption, plot=plot, unplotted=unplotted)


def _paragraph(line: str) -> str:
    kind = ' class="warning"' if line.startswith("WARNING") else ""
    return f"<p{kind}>{html.escape(line)}</p>"


def _figure(content: Tradeoff) -> Any:
    from plotly.subplots import make_subplots

    strip = bool(content.untrained)
    figure = make_subplots(
        rows=2 if strip else 1,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.04,
        row_heights=[0.86, 0.14] if strip else None,
    )
    _add_front(figure, content)
    for kind in Kind:
        if points := [point for point in content.trained if point.kind is kind]:
            figure.add_trace(_scatter(content, kind, points), row=1, col=1)
        for stopped in (False, True):
            untrained = [point for point in content.untrained if point.kind is kind]
            if points := [point for point in untrained if point.stopped_early is stopped]:
                figure.add_trace(_scatter(content, kind, points), row=2, col=1)
    _add_lines(figure, content)
    _label(figure, content, strip)
    return figure


def _scatter(content: Tradeoff, kind: Kind, points: list[Point]) -> Any:
    import plotly.graph_objects as go

    style, scale = STYLES[kind], content.measure.scale
    y = [point.metric * scale if point.metric is not None else 0.0 for point in points]
    solid = kind is Kind.BASELINE or style.plotly.endswith("-thin")
    symbols = [style.plotly if solid or point.confirmed else f"{style.plotly}-open" for point in points]
    return go.Scatter(
        x=[point.gain for point in points],
        y=y,
        name=points[0].legend,
        mode="markers+text",
        text=[str(point.trial) for point in points],
        textposition="top right",
        textfont={"size": 12, "color": "#444"},
        marker={
            "symbol": symbols,
            "size": style.size,
            "color": style.colour,
            "line": {"width": 2, "color": style.colour},
        },
        error_x=_bars([(p.gain, p.gain_low, p.gain_high) for p in points], 1.0, style.colour),
        error_y=_bars([(p.metric, p.metric_low, p.metric_high) for p in points], scale, style.colour),
        hovertext=["<br>".join(html.escape(line) for line in point.details if line) for point in points],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _bars(values: list[tuple[float | None, float | None, float | None]], scale: float, colour: str) -> dict[str, Any]:
    """Asymmetric error bars; none where an interval is missing."""
    above = [(high - mid) * scale if mid is not None and high is not None else None for mid, _, high in values]
    below = [(mid - low) * scale if mid is not None and low is not None else None for mid, low, _ in values]
    visible = any(bar is not None for bar in above)
    return {"type": "data", "array": above, "arrayminus": below, "visible": visible, "thickness": 1, "color": colour}


def _add_front(figure: Any, content: Tradeoff) -> None:
    import plotly.graph_objects as go

    x, y = zip(*content.front, strict=True)
    figure.add_trace(
        go.Scatter(
            x=x,
            y=[value * content.measure.scale for value in y],
            name="Pareto front",
            mode="lines",
            # Down at a point, then across: between two points the better accuracy belongs to the faster one.
            line={"shape": "vh", "color": "#888", "width": 1.5},
            hoverinfo="skip",
        ),
        row=1,
        col=1,
    )


def _add_lines(figure: Any, content: Tradeoff) -> None:
    figure.add_vline(x=1.0, line={"color": "#bbb", "width": 1, "dash": "dot"})
    if content.limit is None:
        return
    figure.add_hline(
        y=content.limit * content.measure.scale,
        line={"color": "#8a1c00", "width": 1.5, "dash": "dash"},
        annotation={"text": html.escape(content.limit_text), "font": {"color": "#8a1c00"}},
        annotation_position="bottom right",
        row=1,
        col=1,
    )


def _label(figure: Any, content: Tradeoff, strip: bool) -> None:
    measure = content.measure
    unit = f" [{measure.unit}]" if measure.unit else ""
    better = "" if measure.higher_is_better else ", lower is better"
    figure.update_layout(
        template="plotly_white",
        height=620,
        margin={"l": 70, "r": 20, "t": 20, "b": 60},
        legend={"orientation": "h", "yanchor": "top", "y": -0.14, "x": 0},
        hoverlabel={"align": "left"},
    )
    ends = [end * measure.scale for end in content.metric_range]
    figure.update_yaxes(
        row=1,
        col=1,
        title=f"{html.escape(measure.name)}{unit}{better}",
        range=ends if measure.higher_is_better else ends[::-1],
    )
    figure.update_xaxes(title=html.escape(content.axis_text), ticksuffix="x", row=2 if strip else 1, col=1)
    if strip:
        figure.update_yaxes(
            row=2, col=1, title="no<br>accuracy", showticklabels=False, showgrid=False, zeroline=False, range=[-1, 1]
        )
