"""Contrast of the page's colours in both themes, by the formula of WCAG 2."""

from __future__ import annotations

import re
from importlib import resources

import pytest

FOLDER = resources.files("autotune.report.page")
CSS = FOLDER.joinpath("report.css").read_text(encoding="utf-8")
JS = FOLDER.joinpath("report.js").read_text(encoding="utf-8")

PAIRS = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\);", CSS))
COLOURS = {name: dict(zip(("light", "dark"), pair.split(", "), strict=True)) for name, pair in PAIRS.items()}

TEXT = ("ink", "muted", "link", "good", "bad", "limit")
MARKS = ("baseline", "winner", "finalist", "passed", "rejected", "dominated", "slower", "unjudged", "failed", "edge")
SERIES = tuple(f"series-{number}" for number in range(1, 7))


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_is_the_right_one():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_reaches_four_and_a_half_to_one(theme: str):
    for name in TEXT:
        for ground in ("paper", "raised"):
            assert contrast(COLOURS[name][theme], COLOURS[ground][theme]) >= 4.5, (name, ground)
    assert contrast(COLOURS["loud-ink"][theme], COLOURS["loud-ground"][theme]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_reach_three_to_one(theme: str):
    for name in (*MARKS, *SERIES):
        assert contrast(COLOURS[name][theme], COLOURS["paper"][theme]) >= 3, name


def test_every_variable_that_is_used_is_there():
    used = set(re.findall(r"var\(--([\w-]+)\)", CSS)) | set(re.findall(r'"--([\w-]+)"', JS)) - {""}
    assert used <= set(COLOURS)


def test_no_rule_names_a_colour_of_its_own():
    rules = CSS[CSS.index(':root[data-theme="light"]') :]
    assert not re.search(r"#[0-9a-f]{3,8}\b|rgba?\(|(?<=: )(white|black|red)\b", rules)


def test_focus_is_shown_motion_can_be_had_less_and_a_sheet_has_no_controls():
    assert ":focus-visible { outline: 3px" in CSS
    assert "outline: none" not in CSS
    assert "@media (prefers-reduced-motion: reduce)" in CSS
    sheet = CSS[CSS.index("@media print") :]
    assert ".controls, .skip, summary, meter, .modebar { display: none !important; }" in sheet
    assert "color-scheme: light" in sheet


def test_the_script_fetches_nothing_and_runs_no_text():
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|eval\(|new Function|innerHTML|localStorage|https?:", JS)
