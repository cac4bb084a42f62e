"""What plotly is given: every attribute is one that plotly knows, and every colour one that the style sheet has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

from autotune.explain.roofline import Ceiling, Roofline, RooflinePoint
from autotune.record.view import StudyView
from autotune.report.curves import curves
from autotune.report.page.curves import loss_plot_of
from autotune.report.page.curves import plot_of as curves_plot
from autotune.report.page.plots import Plot, chart_text, figure
from autotune.report.page.roofline import plot_of as roofline_plot
from autotune.report.page.tradeoff import plot_of as tradeoff_plot
from autotune.report.tradeoff import tradeoff
from tests.report.hostile import hostile_events
from tests.sample_gates import stopped_events
from tests.sample_study import sample_events

CSS = resources.files("autotune.report.page").joinpath("report.css").read_text(encoding="utf-8")

CEILINGS = (Ceiling("float32", 0.15, "measured on this machine"), Ceiling("bfloat16", 0.4, "measured on this machine"))
POINTS = (
    RooflinePoint(0, "float32", 4.0, 0.05, 0.4),
    RooflinePoint(4, "bfloat16", 30.0, 0.2, 0.5),
    RooflinePoint(2, "bfloat16", 20.0, 0.1, None),
)
ROOFLINE = Roofline(CEILINGS, 20.0, "measured on this machine", POINTS)


def plots() -> Iterator[Plot]:
    for events in (sample_events(), sample_events(winner=False), stopped_events(), hostile_events()):
        view = StudyView.of(events)
        points, lines = tradeoff(view), curves(view)
        assert points is not None
        assert lines is not None
        yield from (tradeoff_plot(points), curves_plot(lines), roofline_plot(view, ROOFLINE))
        losses = loss_plot_of(lines)
        assert losses is not None
        yield losses
    yield roofline_plot(StudyView.of(sample_events()), Roofline(CEILINGS, None, "", POINTS))


def spec_of(plot: Plot) -> dict[str, Any]:
    [text] = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', figure(plot), flags=re.DOTALL)
    return json.loads(text)


def colours(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from colours(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from colours(one, key)
    elif isinstance(value, str) and key.endswith("color"):
        yield value


def painted(value: Any, key: str = "") -> Any:
    """With a colour for each variable, as the page does it."""
    if isinstance(value, dict):
        return {name: painted(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [painted(one, key) for one in value]
    return "#123456" if isinstance(value, str) and key.endswith("color") else value


@pytest.mark.slow
def test_plotly_takes_every_attribute():
    import plotly.graph_objects as go

    for plot in plots():
        spec = spec_of(plot)
        made = go.Figure(data=painted(spec["data"]), layout=painted(spec["layout"]))
        assert len(made.data) == len(spec["data"])


def test_every_colour_is_a_variable_of_the_style_sheet():
    named = {colour for plot in plots() for colour in colours(spec_of(plot))}
    assert {"--winner", "--baseline", "--limit", "--paper"} <= named
    assert all(f"  {colour}: light-dark(" in CSS for colour in named), named


def test_a_point_carries_its_trial_and_its_bars_end_at_the_interval():
    content = tradeoff(StudyView.of(sample_events()))
    assert content is not None
    winner = next(trace for trace in tradeoff_plot(content).data if trace["name"] == "winner, confirmed")
    assert winner["customdata"] == [4]
    assert winner["error_x"]["array"][0] == pytest.approx(0.15)
    assert winner["error_x"]["arrayminus"][0] == pytest.approx(0.14)
    assert winner["error_y"]["arrayminus"][0] == pytest.approx(0.34)
    assert winner["y"] == [pytest.approx(44.02)]


def test_curves_can_be_drawn_against_either_and_the_mean_stands_out():
    content = curves(StudyView.of(sample_events()))
    assert content is not None
    plot = curves_plot(content)
    assert plot.views is not None
    assert set(plot.views) == {"time", "epochs"}
    for view in plot.views.values():
        assert [len(along) for along in view["x"]] == [len(trace["y"]) for trace in plot.data]
    assert plot.views["epochs"]["x"][0] == [1.0, 2.0, 3.0]
    means = [trace for trace in plot.data if "name" in trace]
    assert {trace["line"]["width"] for trace in means} == {3}
    assert [trace.get("visible") for trace in means] == [None, None, None, "legendonly"]
    assert {trace["meta"] for trace in plot.data} == {0, 3, 4, 5}


def test_a_roof_is_the_memorys_up_to_the_ridge_and_flat_beyond():
    plot = roofline_plot(StudyView.of(sample_events()), ROOFLINE)
    roof = plot.data[0]
    assert roof["name"] == "float32: 150 GFLOP/s"
    low, ridge, high = roof["x"]
    assert ridge == pytest.approx(7.5)
    assert roof["y"] == pytest.approx([low * 20, 150, 150])
    assert high > 30.0
    assert "Memory: 20 GB/s, measured on this machine." in plot.captions


def test_a_fast_device_is_told_in_its_own_unit():
    fast = Roofline((Ceiling("float16", 65.0, "published"),), None, "", (RooflinePoint(4, "float16", 9.0, 12.0, 0.2),))
    plot = roofline_plot(StudyView.of(sample_events()), fast)
    assert plot.data[0]["name"] == "float16: 65 TFLOP/s"
    assert plot.layout["yaxis"]["title"]["text"] == "TFLOP/s"


def test_without_a_bandwidth_the_roof_is_flat_and_that_is_said():
    plot = roofline_plot(StudyView.of(sample_events()), Roofline(CEILINGS, None, "", POINTS))
    assert set(plot.data[0]["y"]) == {150}
    assert any("bandwidth is not known" in caption for caption in plot.captions)


def test_no_string_ends_its_script():
    for plot in plots():
        inner = figure(plot).split('type="application/json"')[1].split("</script>")[0]
        assert not set("<&") & set(inner.split(">", 1)[1])


def test_plotly_is_given_no_entity_that_it_would_show_as_written() -> None:
    assert chart_text("'a\" <b> & c\n") == "'a\" &lt;b&gt; &amp; c"
