"""Reports of a study whose every name is an attack on whoever opens them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from autotune.console import console_sink
from autotune.record.view import StudyView
from autotune.report.page.document import report_page
from autotune.report.write import write_report
from tests.console.screen import Terminal
from tests.report.hostile import EVIL, hostile_events
from tests.sample_study import sample_events

OPTIONS = [
    {},
    {"on_target": False, "stand_in": True},
    {"winner": False},
    {"interrupted": True},
    {"objective": "energy"},
]


class Tags(HTMLParser):
    """The elements of a page that load or run something, as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        handlers = [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        handlers += [value or "" for name, value in attrs if name in ("src", "href")]
        if handlers or tag in ("script", "img", "iframe", "a", "svg", "object"):
            self.found.append(" ".join([tag, *handlers]))


@pytest.fixture(scope="module", params=OPTIONS, ids=str)
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_report(StudyView.of(hostile_events(**request.param)), tmp_path_factory.mktemp("report"))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_page_has_the_elements_of_an_honest_one(options: dict[str, Any]) -> None:
    honest = report_page(StudyView.of(sample_events(**options)), ["a remark"])
    hostile = report_page(StudyView.of(hostile_events(**options)), [EVIL])
    assert Tags(hostile).found == Tags(honest).found
    assert "<script>alert" not in hostile
    assert "<img src=x" not in hostile


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_text_that_plotly_shows_is_none_of_its_markup(options: dict[str, Any]) -> None:
    page = report_page(StudyView.of(hostile_events(**options)))
    specs = [json.loads(text) for text in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page)]
    shown = [text for spec in specs for text in texts(spec)]
    assert any("owned" in text for text in shown), "it is shown"
    for text in shown:
        assert not re.search(r"<(?!br>|extra>|/extra>)", text)


def texts(value: Any) -> Iterator[str]:
    """Every string in a plot's content."""
    if isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value


def test_no_cell_of_the_table_is_a_formula(files: dict[str, Path]) -> None:
    with files["trials.csv"].open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    assert len({len(row) for row in rows}) == 1
    cells = [cell for row in rows for cell in row]
    assert any(cell.startswith("'=HYPERLINK") for cell in cells)
    for cell in cells:
        assert cell.isprintable()
        assert not cell.startswith(("=", "+", "@"))
        assert not cell.startswith("-") or float(cell) < 0


def test_the_summary_has_no_markup_of_others(files: dict[str, Path]) -> None:
    lines = files["summary.md"].read_text(encoding="utf-8").split("\n")
    assert all(line.isprintable() for line in lines)
    text = "\n".join(line for line in lines if not line.startswith("    "))  # an indented line is shown as it is
    assert not re.search(r"<(script|img|/script)", text)
    assert "](javascript" not in text
    assert "](http" not in text
    for rule, row in pairwise(lines):
        if rule.startswith("| ---"):
            assert len(re.findall(r"(?<!\\)\|", row)) == rule.count("|"), "a cell's border is nobody's to set"


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_plain_lines_hold_no_control_characters(options) -> None:
    stream = Terminal(is_terminal=False)
    sink = console_sink(stream=stream, tracking_hint="make ui", clock=iter(range(10_000)).__next__)
    for event in hostile_events(**options):
        sink.on_event(event)
    sink.close()
    assert all(line.isprintable() for line in stream.text.split("\n"))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_live_table_sends_no_sequences_of_others(options, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    sink = console_sink(stream=stream, tracking_hint="make ui", clock=iter(range(100_000)).__next__)
    for event in hostile_events(**options):
        sink.on_event(event)
    sink.close()
    # What is left is rich's own: colours, moving up, clearing a line, and the cursor.
    rest = re.sub(r"\x1b\[(?:[0-9;]*m|\d*A|2K|1?[GK]|\?25[lh])", "", stream.text)
    assert "owned" in rest, "it has been shown"
    assert "\x1b" not in rest
    assert not set("\x07\x9b\u202e") & set(rest)
