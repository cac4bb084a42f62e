"""The report in a real browser: it draws itself from the file alone, and does what its buttons say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.record.view import StudyView
from autotune.report.write import write_report
from tests.browser import Browser, Page
from tests.sample_study import sample_events

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DRAWN = "document.querySelectorAll('.plot .main-svg').length >= document.querySelectorAll('.plot').length"
CURRENT = "document.querySelector('.trials tbody.current')?.id"
ORDER = "[...document.querySelectorAll('.trials tbody')].map(one => Number(one.id.slice(6)))"
SCROLLS_SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    view = StudyView.of(sample_events(on_target=False, stand_in=True))
    return write_report(view, tmp_path_factory.mktemp("report"))["report.html"].as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def opened(browser: Browser, report: str, **options: object) -> Page:
    page = browser.open(report, **options)
    page.wait(DRAWN)
    return page


@pytest.fixture
def page(browser: Browser, report: str) -> Iterator[Page]:
    page = opened(browser, report)
    yield page
    assert page.problems == []
    page.send("Page.close")


def place_of(page: Page, trial: int) -> list[float]:
    """Where the middle of a trial's point in the plot of speed against accuracy is [CSS pixels of the window]."""
    page.evaluate("document.getElementById('tradeoff-plot').scrollIntoView({block: 'center'})")
    return page.evaluate(
        f"""(() => {{
            const box = document.getElementById("tradeoff-plot"), frame = box.getBoundingClientRect();
            for (const trace of box._fullData) {{
                const at = (trace.customdata || []).indexOf({trial});
                if (at < 0) continue;
                const [x, y] = [box._fullLayout.xaxis, box._fullLayout[trace.yaxis === "y2" ? "yaxis2" : "yaxis"]];
                return [frame.x + x._offset + x.d2p(trace.x[at]), frame.y + y._offset + y.d2p(trace.y[at])];
            }}
        }})()"""
    )


def test_it_draws_itself_without_a_network(page: Page) -> None:
    assert page.requests == []
    text = page.evaluate("document.getElementById('tradeoff-plot').textContent")
    for words in ("float32 baseline", "winner, confirmed", "Pareto front", "constraint: baseline less 1.00 pp"):
        assert words in text
    assert "trial 4, winner" in page.evaluate("document.getElementById('curves-plot').textContent")


def test_a_point_leads_to_its_trial_and_the_trial_back_to_its_point(page: Page) -> None:
    page.click_at(*place_of(page, 5))
    page.wait(f"{CURRENT} === 'trial-5'")
    assert page.evaluate("document.activeElement.id") == "trial-5"
    seen = "document.getElementById('trial-5').getBoundingClientRect()"
    assert page.evaluate(f"{seen}.top >= 0 && {seen}.bottom <= innerHeight")

    page.click("#trial-2 .to-plot")
    page.wait(f"{CURRENT} === 'trial-2'")
    assert page.evaluate("document.activeElement.id") == "tradeoff-plot"
    ring = page.evaluate("document.getElementById('tradeoff-plot').layout.shapes.find(one => one.type === 'circle')")
    assert (ring["xanchor"], ring["yref"]) == (3.91, "y2")


def test_whoever_points_at_a_trial_sees_its_figures(page: Page) -> None:
    x, y = place_of(page, 4)
    page.send("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    shown = "document.querySelector('#tradeoff-plot .hoverlayer').textContent"
    page.wait(f"{shown} !== ''")
    assert "5.94x [5.80, 6.09]" in page.evaluate(shown)


def test_the_table_is_sorted_by_mouse_and_by_keyboard_and_what_is_unknown_comes_last(page: Page) -> None:
    heads = page.evaluate("[...document.querySelectorAll('.trials thead th')].map(one => one.textContent)")
    column = heads.index("speedup") + 1
    head = f".trials thead th:nth-child({column})"
    page.click(f"{head} button")
    assert page.evaluate(f"document.querySelector({json.dumps(head)}).ariaSort") == "descending"
    assert page.evaluate(ORDER) == [3, 4, 5, 2, 7, 8, 1, 0, 6]
    page.evaluate(f"document.querySelector({json.dumps(head)} + ' button').focus()")
    page.press("Enter", "\r")
    assert page.evaluate(f"document.querySelector({json.dumps(head)}).ariaSort") == "ascending"
    assert page.evaluate(ORDER) == [1, 8, 7, 2, 5, 4, 3, 0, 6]
    assert page.evaluate("document.getElementById('trials-sorted').textContent") == "Sorted by speedup, ascending"
    page.click(".trials thead th:nth-child(1) button")
    assert page.evaluate(ORDER) == list(range(9))
    assert page.evaluate(f"document.querySelector({json.dumps(head)}).ariaSort") == "none"


def test_the_first_key_leads_past_the_links(page: Page) -> None:
    page.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    box = "document.activeElement.getBoundingClientRect()"
    assert page.evaluate(f"{box}.left >= 0 && {box}.width > 20"), "it shows itself"


def test_curves_are_drawn_against_epochs_too(page: Page) -> None:
    x = "document.getElementById('curves-plot').data[0].x"
    assert page.evaluate(f"{x}[2]") == pytest.approx(3.93, abs=0.1)
    page.click("[data-switch=curves] input[value=epochs]")
    assert page.evaluate(x) == [1, 2, 3]
    assert page.evaluate("document.getElementById('curves-plot').layout.xaxis.title.text") == "epochs"


def test_dark_and_light_follow_the_system_and_the_button_and_so_do_the_plots(browser: Browser, report: str) -> None:
    page = opened(browser, report, dark=True)
    ground = "getComputedStyle(document.body).backgroundColor"
    plotted = "document.getElementById('tradeoff-plot').layout.plot_bgcolor"
    dark = page.evaluate(ground)
    assert lightness(dark) < 60
    assert page.evaluate(plotted) == dark
    page.click("#theme")
    light = page.evaluate(ground)
    assert lightness(light) > 200
    assert page.evaluate(plotted) == light
    assert page.evaluate("document.getElementById('theme').ariaPressed") == "false"
    assert page.problems == []


def lightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


@pytest.mark.parametrize("width", [360, *(pytest.param(width, marks=pytest.mark.long) for width in (390, 768)), 1280])
def test_no_width_makes_the_page_scroll_sideways(browser: Browser, report: str, width: int) -> None:
    page = opened(browser, report, width=width, height=800, touch=width < 500)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert not page.evaluate(SCROLLS_SIDEWAYS)
    wide = page.evaluate(
        """[...document.querySelectorAll('main *')].filter(one => !one.closest('.scroll, .plot, .hidden') &&
           one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 80))"""
    )
    assert wide == []
    ends = "[...document.querySelectorAll('.plot .main-svg')].map(one => one.getBoundingClientRect().right)"
    assert all(end <= width for end in page.evaluate(ends))
    assert page.problems == []


def test_on_a_phone_a_trial_is_a_card_with_the_names_of_its_figures(browser: Browser, report: str) -> None:
    page = opened(browser, report, width=390, height=800, touch=True)
    cell = "document.querySelector('#trial-4 [data-label=speedup]')"
    assert page.evaluate(f"getComputedStyle({cell}, '::before').content") == '"speedup"'
    assert page.evaluate(f"{cell}.offsetWidth < 200 && {cell}.getBoundingClientRect().right <= innerWidth")
    page.click(".trials thead th:nth-child(1) button")
    page.click(".trials thead th:nth-child(1) button")
    assert page.evaluate(f"{ORDER}[0]") == 8


def test_it_prints_light_whole_and_without_controls(browser: Browser, report: str, tmp_path: Path) -> None:
    page = opened(browser, report, dark=True)
    page.evaluate("addEventListener('beforeprint', () => { window.atPrint = window.seen() })")
    page.evaluate(
        """window.seen = () => ({
            ground: getComputedStyle(document.body).backgroundColor,
            widths: [...document.querySelectorAll('.plot .main-svg')].map(one => one.getBoundingClientRect().width),
        })"""
    )
    page.pdf(tmp_path / "report.pdf")
    printed = (tmp_path / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 2
    seen = page.evaluate("window.atPrint")
    assert lightness(seen["ground"]) > 200
    assert all(0 < width <= 700 for width in seen["widths"]), "as wide as the sheet"
    page.send("Emulation.setEmulatedMedia", {"media": "print"})
    shown = "[...document.querySelectorAll('.controls')].filter(one => one.getClientRects().length)"
    assert page.evaluate(f"{shown}.length") == 0
    assert page.evaluate("[...document.querySelectorAll('.trials tbody')].every(one => one.getClientRects().length)")
    page.send("Emulation.setEmulatedMedia", {"media": ""})
    page.prefer(dark=True)
    dark_again = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert lightness(dark_again) < 60
    page.click_at(*place_of(page, 4))
    page.wait(f"{CURRENT} === 'trial-4'")
    assert page.problems == []
