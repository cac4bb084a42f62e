"""Learning curves: each seed thin, the mean over seeds thick, against training time or against epochs."""

from __future__ import annotations

from typing import Any

from autotune.record.view import StudyView
from autotune.report import phrases
from autotune.report.curves import CurvePoint, Curves, Series, curves
from autotune.report.measure import Measure
from autotune.report.page.markup import Html, Row, esc, join, section, table, tag, trial_link
from autotune.report.page.plots import GRID, Plot, Trace, chart_text, figure, metric_title

IDENT = "curves"

_VIEWS = {"time": "training time, evaluation apart [s]", "epochs": "epochs"}
_COLOURS = ("--series-1", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def curves_section(view: StudyView) -> Html:
    """The plot; nothing before the baseline was trained."""
    content = curves(view)
    if content is None:
        return Html()
    return section(IDENT, "Learning curves", figure(plot_of(content)))


def plot_of(content: Curves) -> Plot:
    """The plot's content for the page."""
    data: list[Trace] = []
    x: dict[str, list[list[float]]] = {name: [] for name in _VIEWS}
    some_confirmed = any(series.confirmed for series in content.series[1:])
    for number, series in enumerate(content.series):
        for trace, points in _traces(content.measure, number, series, some_confirmed):
            data.append(trace)
            x["time"].append([point.elapsed_s for point in points])
            x["epochs"].append([float(point.epoch) for point in points])
    return Plot(
        ident=IDENT,
        summary=_summary(content),
        data=[trace | {"x": along} for trace, along in zip(data, x["time"], strict=True)],
        layout=_layout(content.measure),
        table=table("Metric after each epoch, by trial and seed", _header(content), _rows(content)),
        captions=_captions(content),
        controls=_controls(),
        views={name: {"x": x[name], "title": title} for name, title in _VIEWS.items()},
    )


def _traces(
    measure: Measure, number: int, series: Series, some_confirmed: bool
) -> list[tuple[Trace, tuple[CurvePoint, ...]]]:
    """One thin line a seed, then the mean; what was only verified waits in the legend where something was confirmed."""
    colour = "--baseline" if number == 0 else _COLOURS[(number - 1) % len(_COLOURS)]
    line = {"color": colour, "dash": "solid" if number == 0 else _DASHES[number % len(_DASHES)]}
    common: Trace = {"type": "scatter", "legendgroup": f"trial {series.trial}", "meta": series.trial}
    if number and some_confirmed and not series.confirmed:
        common["visible"] = "legendonly"
    name = chart_text(series.name)
    found: list[tuple[Trace, tuple[CurvePoint, ...]]] = []
    for seed, points in series.runs.items():
        stopped = ", stopped early" if seed in series.stopped else ""
        thin: Trace = {"mode": "lines+markers", "line": {"color": colour, "width": 1}, "marker": {"size": 3}}
        thin |= {"opacity": 0.55, "showlegend": False}
        hover = f"{name}<br>seed {seed}{stopped}: {_hover(measure)}"
        found.append(({**common, **thin, **_y(measure, points), "hovertemplate": hover}, points))
    mean = {"mode": "lines+markers", "line": {**line, "width": 3}, "marker": {"size": 6}, "name": name}
    over = f"{name}<br>mean of {len(series.runs)} seeds: {_hover(measure)}"
    found.append(({**common, **mean, **_y(measure, series.mean), "hovertemplate": over}, series.mean))
    return found


def _y(measure: Measure, points: tuple[CurvePoint, ...]) -> dict[str, Any]:
    return {
        "y": [point.metric * measure.scale for point in points],
        "customdata": [[point.epoch, point.elapsed_s] for point in points],
    }


def _hover(measure: Measure) -> str:
    unit = f" {measure.unit}" if measure.unit else ""
    digits = ":.2f" if measure.is_share else ":.4g"
    return f"%{{y{digits}}}{unit}<br>epoch %{{customdata[0]}}, after %{{customdata[1]:.3g}} s<extra></extra>"


def _layout(measure: Measure) -> dict[str, Any]:
    axis = {**GRID, "title": {"text": metric_title(measure)}}
    if not measure.higher_is_better:
        axis["autorange"] = "reversed"
    return {
        "hovermode": "closest",
        "xaxis": {**GRID, "title": {"text": _VIEWS["time"]}, "rangemode": "tozero"},
        "yaxis": axis,
    }


def _controls() -> Html:
    """Which of the two the curves are drawn against."""
    named = {"time": "against training time", "epochs": "against epochs"}
    choices = [tag("label", join([_radio(name, checked=name == "time"), named[name]], " ")) for name in _VIEWS]
    legend = tag("legend", "Draw the curves", class_="hidden")
    return tag("fieldset", join([legend, *choices]), class_="controls switch", data_switch=IDENT)


def _radio(value: str, *, checked: bool) -> Html:
    """A radio button."""
    return Html(f'<input type="radio" name="{IDENT}-view" value="{esc(value)}"{" checked" if checked else ""}>')


def _summary(content: Curves) -> str:
    measure = content.measure
    told = [f"Line plot of {measure.name} on the validation part while training."]
    for series in content.series:
        if series.mean:
            last = series.mean[-1]
            told.append(
                f"{series.name}: mean of {len(series.runs)} seeds {measure.value(last.metric)} after"
                f" {last.epoch} epochs and {phrases.three_digits(last.elapsed_s)} s."
            )
    return " ".join(told)


def _captions(content: Curves) -> tuple[str, ...]:
    told = ["Thin: one seed. Thick: their mean, at the epochs that all of them reached."]
    stages = {series.stage.value for series in content.series[1:]}
    if stages:
        told.append(
            f"Trainings of the stage: {', '.join(sorted(stages))}; float32's on the same seeds as far as it has them."
        )
    if len(stages) > 1:
        told.append("Trials that were not confirmed were trained on other seeds; choose them in the legend.")
    if content.left_out:
        told.append(f"{content.left_out} more trained trials are left out here; the table of trials has them.")
    return tuple(told)


def _header(content: Curves) -> Row:
    return ("trial", "stage", "seed", "epoch", "training time [s]", content.measure.name)


def _rows(content: Curves) -> list[Row]:
    return [
        (
            trial_link(series.trial),
            series.stage.value,
            f"{seed}",
            f"{point.epoch}",
            phrases.three_digits(point.elapsed_s),
            content.measure.value(point.metric),
        )
        for series in content.series
        for seed, points in series.runs.items()
        for point in points
    ]
