"""Learning curves: each seed thin, the mean over seeds thick, against training time or against epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autotune.record.view import StudyView
from autotune.report import phrases
from autotune.report.curves import CurvePoint, Curves, Lines, Series, curves
from autotune.report.page.markup import Html, Row, esc, join, section, table, tag, trial_link
from autotune.report.page.plots import GRID, Plot, Trace, chart_text, figure, metric_title

IDENT, LOSS_IDENT = "curves", "losses"

_WHEN = "<br>epoch %{customdata[0]}, after %{customdata[1]:.3g} s<extra></extra>"
_VIEWS = {"time": "training time, evaluation apart [s]", "epochs": "epochs"}
_COLOURS = ("--series-1", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


@dataclass(frozen=True, slots=True)
class _Quantity:
    """What one plot has on its upright axis.

    Attributes:
        name: for a sentence.
        title: of the axis.
        lines: of a series.
        scale: from the recorded unit to the shown one.
        hover: the value in plotly's format, with its unit.
        text: a recorded value, for a reader.
        reversed: whether the axis has its lowest value at the top.
        table: title of the data's table.
    """

    ident: str
    name: str
    title: str
    lines: Callable[[Series], Lines]
    scale: float
    hover: str
    text: Callable[[float], str]
    reversed: bool
    table: str


def curves_section(view: StudyView) -> Html:
    """Two plots, the metric and the training loss; nothing before the baseline was trained."""
    content = curves(view)
    if content is None:
        return Html()
    plots = [plot_of(content), loss_plot_of(content)]
    return section(IDENT, "Learning curves", *(figure(plot) for plot in plots if plot is not None))


def plot_of(content: Curves) -> Plot:
    """The metric on the validation part."""
    measure = content.measure
    unit = f" {measure.unit}" if measure.unit else ""
    quantity = _Quantity(
        ident=IDENT,
        name=f"{measure.name} on the validation part",
        title=metric_title(measure),
        lines=lambda series: series.metric,
        scale=measure.scale,
        hover=f"%{{y{':.2f' if measure.is_share else ':.4g'}}}{unit}",
        text=measure.value,
        reversed=not measure.higher_is_better,
        table="Metric after each epoch that was evaluated, by trial and seed",
    )
    return _plot(content, quantity, _captions(content))


def loss_plot_of(content: Curves) -> Plot | None:
    """The loss of the training itself, which every epoch has; None where no epoch has one."""
    if not any(series.loss.runs for series in content.series):
        return None
    quantity = _Quantity(
        ident=LOSS_IDENT,
        name="training loss",
        title="training loss",
        lines=lambda series: series.loss,
        scale=1.0,
        hover="%{y:.4g}",
        text=phrases.three_digits,
        reversed=False,
        table="Training loss of each epoch, by trial and seed",
    )
    caption = "A mean over each epoch's steps, while the weights changed. Accuracy is judged by the metric alone."
    return _plot(content, quantity, (caption,))


def _plot(content: Curves, quantity: _Quantity, captions: tuple[str, ...]) -> Plot:
    data: list[Trace] = []
    x: dict[str, list[list[float]]] = {name: [] for name in _VIEWS}
    some_confirmed = any(series.confirmed for series in content.series[1:])
    for number, series in enumerate(content.series):
        for trace, points in _traces(quantity, number, series, some_confirmed):
            data.append(trace)
            x["time"].append([point.elapsed_s for point in points])
            x["epochs"].append([float(point.epoch) for point in points])
    return Plot(
        ident=quantity.ident,
        summary=_summary(content, quantity),
        data=[trace | {"x": along} for trace, along in zip(data, x["time"], strict=True)],
        layout=_layout(quantity),
        table=table(quantity.table, _header(quantity), _rows(content, quantity)),
        captions=captions,
        controls=_controls(quantity.ident),
        views={name: {"x": x[name], "title": title} for name, title in _VIEWS.items()},
    )


def _traces(
    quantity: _Quantity, number: int, series: Series, some_confirmed: bool
) -> list[tuple[Trace, tuple[CurvePoint, ...]]]:
    """One thin line a seed, then the mean; what was only verified waits in the legend where something was confirmed."""
    colour = "--baseline" if number == 0 else _COLOURS[(number - 1) % len(_COLOURS)]
    line = {"color": colour, "dash": "solid" if number == 0 else _DASHES[number % len(_DASHES)]}
    common: Trace = {"type": "scatter", "legendgroup": f"trial {series.trial}", "meta": series.trial}
    if number and some_confirmed and not series.confirmed:
        common["visible"] = "legendonly"
    name, lines, hover = chart_text(series.name), quantity.lines(series), f"{quantity.hover}{_WHEN}"
    found: list[tuple[Trace, tuple[CurvePoint, ...]]] = []
    for seed, points in lines.runs.items():
        stopped = ", stopped early" if seed in series.stopped else ""
        thin: Trace = {"mode": "lines+markers", "line": {"color": colour, "width": 1}, "marker": {"size": 3}}
        thin |= {"opacity": 0.55, "showlegend": False}
        told = {"hovertemplate": f"{name}<br>seed {seed}{stopped}: {hover}"}
        found.append(({**common, **thin, **_y(quantity, points), **told}, points))
    mean = {"mode": "lines+markers", "line": {**line, "width": 3}, "marker": {"size": 6}, "name": name}
    told = {"hovertemplate": f"{name}<br>mean of {len(lines.runs)} seeds: {hover}"}
    found.append(({**common, **mean, **_y(quantity, lines.mean), **told}, lines.mean))
    return found


def _y(quantity: _Quantity, points: tuple[CurvePoint, ...]) -> dict[str, Any]:
    return {
        "y": [point.value * quantity.scale for point in points],
        "customdata": [[point.epoch, point.elapsed_s] for point in points],
    }


def _layout(quantity: _Quantity) -> dict[str, Any]:
    axis = {**GRID, "title": {"text": quantity.title}}
    if quantity.reversed:
        axis["autorange"] = "reversed"
    return {
        "hovermode": "closest",
        "xaxis": {**GRID, "title": {"text": _VIEWS["time"]}, "rangemode": "tozero"},
        "yaxis": axis,
    }


def _controls(ident: str) -> Html:
    """Which of the two the curves are drawn against."""
    named = {"time": "against training time", "epochs": "against epochs"}
    choices = [tag("label", join([_radio(ident, name, checked=name == "time"), named[name]], " ")) for name in _VIEWS]
    legend = tag("legend", "Draw the curves", class_="hidden")
    return tag("fieldset", join([legend, *choices]), class_="controls switch", data_switch=ident)


def _radio(ident: str, value: str, *, checked: bool) -> Html:
    """A radio button."""
    return Html(f'<input type="radio" name="{ident}-view" value="{esc(value)}"{" checked" if checked else ""}>')


def _summary(content: Curves, quantity: _Quantity) -> str:
    ends = [_end(series, quantity) for series in content.series if quantity.lines(series).mean]
    return " ".join([f"Line plot of {quantity.name} while training.", *ends])


def _end(series: Series, quantity: _Quantity) -> str:
    lines = quantity.lines(series)
    last, over = lines.mean[-1], f"mean of {len(lines.runs)} seeds"
    after = f"after {last.epoch} epochs and {phrases.three_digits(last.elapsed_s)} s"
    return f"{series.name}: {over} {quantity.text(last.value)} {after}."


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


def _header(quantity: _Quantity) -> Row:
    return ("trial", "stage", "seed", "epoch", "training time [s]", quantity.name)


def _rows(content: Curves, quantity: _Quantity) -> list[Row]:
    return [
        (
            trial_link(series.trial),
            series.stage.value,
            f"{seed}",
            f"{point.epoch}",
            phrases.three_digits(point.elapsed_s),
            quantity.text(point.value),
        )
        for series in content.series
        for seed, points in quantity.lines(series).runs.items()
        for point in points
    ]
