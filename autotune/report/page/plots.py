"""A plot in the page: what plotly is given, a summary in words for who cannot see it, and its data as a table.

The page draws its plots itself (`report.js`). A colour in a plot is the name of a variable of `report.css`, such as
`--winner`, and is looked up when it is drawn: so plots follow the theme. Text that plotly shows is taken for its
small markup and must go through `chart_text`.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any

from autotune.report import phrases
from autotune.report.measure import Measure
from autotune.report.page.markup import Html, esc, join, more, tag

Trace = dict[str, Any]

GRID = {"gridcolor": "--grid", "zeroline": False, "linecolor": "--grid", "automargin": True}
"""Of every axis."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot.

    Attributes:
        ident: its id in the page.
        summary: what it shows, in words: what a screen reader says in its place.
        data, layout: as plotly takes them, with variables for colours.
        table: its data.
        captions: what must be known to read it.
        controls: what switches it, if anything does.
        views: by name, what a switch changes: the x of each trace, and the title of that axis.
    """

    ident: str
    summary: str
    data: list[Trace]
    layout: dict[str, Any]
    table: Html
    captions: tuple[str, ...] = ()
    controls: str = ""
    views: dict[str, Any] | None = None


def figure(plot: Plot) -> Html:
    """The plot's place in the page."""
    spec = {"data": plot.data, "layout": _layout(plot.layout), "views": plot.views or {}}
    box = tag("div", class_="plot", id=f"{plot.ident}-plot", data_plot=plot.ident, role="img", aria_label=plot.summary)
    caption = tag("figcaption", join(tag("p", line) for line in plot.captions)) if plot.captions else ""
    parts = [
        plot.controls,
        box,
        Html(f'<script type="application/json" id="{esc(plot.ident)}-spec">{_json(spec)}</script>'),
        caption,
        more("The data of this plot as a table", plot.table),
    ]
    return tag("figure", join(parts))


def chart_text(text: object) -> str:
    """Text on one line for plotly, which knows the entities of markup and shows that of a quote as it is written."""
    return html.escape(phrases.one_line(str(text)), quote=False)


def metric_title(measure: Measure) -> str:
    """The title of the metric's axis."""
    unit = f" [{measure.unit}]" if measure.unit else ""
    return f"{chart_text(measure.name)}{unit}{'' if measure.higher_is_better else ', lower is better'}"


def _layout(layout: dict[str, Any]) -> dict[str, Any]:
    return {
        "autosize": True,
        "paper_bgcolor": "--paper",
        "plot_bgcolor": "--paper",
        "font": {"color": "--ink", "size": 13, "family": "system-ui, sans-serif"},
        "hoverlabel": {"align": "left", "bgcolor": "--paper", "bordercolor": "--grid", "font": {"color": "--ink"}},
        "margin": {"l": 60, "r": 16, "t": 16, "b": 50},
        "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0, "bgcolor": "--paper"},
        "uirevision": "kept",
        **layout,
    }


def _json(value: Any) -> str:
    """JSON that ends no script and opens no markup, whatever the strings in it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
