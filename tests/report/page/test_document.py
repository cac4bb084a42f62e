"""The page as a whole, read as a browser reads it but not drawn: see `test_page_in_browser` for that."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from autotune.record.view import StudyView
from autotune.report.page.document import report_page
from tests.sample_study import sample_events

VARIANTS = [
    {},
    {"on_target": False, "stand_in": True},
    {"winner": False},
    {"interrupted": True},
    {"objective": "energy"},
    {"objective": "time_to_accuracy"},
    {"relative": True},
]


class Outline(HTMLParser):
    """Headings, ids, links and tags of a page; refuses one whose tags are not nested."""

    EMPTY = frozenset({"meta", "input", "link", "img", "br", "hr"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.levels: list[int] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.labelled: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(f"{before_scripts(page)}</body></html>")
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append((tag, named))
        self.ids += [value for value in [named.get("id")] if value]
        self.links += [value for value in [named.get("href")] if value]
        self.labelled += [
            word for key in ("aria-labelledby", "aria-describedby") for word in (named.get(key) or "").split()
        ]
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module", params=VARIANTS, ids=str)
def page(request: pytest.FixtureRequest) -> str:
    return report_page(StudyView.of(sample_events(**request.param)))


@pytest.fixture(scope="module")
def whole() -> str:
    return report_page(StudyView.of(sample_events()))


def before_scripts(page: str) -> str:
    """What there is to see; megabytes of plotly follow."""
    return page[: page.index("<script>")]


def text_of(page: str) -> str:
    body = re.sub(r"<(script|style)\b.*?</\1>", "", before_scripts(page), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_tags_are_nested_ids_are_unique_and_links_lead_somewhere(page: str):
    outline = Outline(page)
    assert len(set(outline.ids)) == len(outline.ids)
    assert {f"#{name}" for name in outline.ids} >= set(outline.links)
    assert set(outline.labelled) <= set(outline.ids)


def test_headings_descend_one_level_at_a_time_from_a_single_first(page: str):
    levels = Outline(page).levels
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_language_a_way_past_the_links_and_a_viewport(page: str):
    assert '<html lang="en">' in page
    assert page.index('class="skip" href="#answer"') < page.index("<nav")
    assert 'name="viewport" content="width=device-width, initial-scale=1"' in page


def test_nothing_is_fetched_and_only_these_scripts_run(page: str):
    assert not [tag for tag, attrs in Outline(page).tags if tag in ("link", "img", "iframe", "object")]
    assert not re.search(r"<script[^>]+src=", page)
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert not re.search(r"script-src[^;]*(unsafe|https?:|\*)", policy)
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert re.findall(r"'sha256-([^']+)'", policy) == digests
    assert not re.search(r"<[^>]+ on\w+=", before_scripts(page)), "no handler in an attribute: the policy forbids it"


def test_the_plotting_library_is_inlined_once(whole: str):
    assert len(whole) > 3_000_000
    assert len(re.findall(r"<script>", whole)) == 2


def test_each_plot_says_in_words_what_it_shows_and_has_its_data_in_a_table(whole: str):
    figures = re.findall(r"<figure>(.*?)</figure>", whole, flags=re.DOTALL)
    assert len(figures) >= 2
    for figure in figures:
        [summary] = re.findall(r'role="img" aria-label="([^"]+)"', figure)
        assert len(summary) > 80
        assert "<summary>The data of this plot as a table</summary>" in figure
        assert "<table>" in figure
    assert "On the Pareto front: trial 4, winner, confirmed, 5.94x [5.80, 6.09], 44.02 %" in whole


def test_the_answer_comes_before_everything_else_and_warnings_are_in_sight():
    page = report_page(StudyView.of(sample_events(on_target=False, stand_in=True)), ["the study is running"])
    text = text_of(page)
    assert text.index("OFF TARGET: measured on NVIDIA GeForce RTX 3090, not on") < text.index("5.94x")
    assert "STAND-IN DATA" in text
    assert "the study is running" in text
    assert page.index("[5.80, 6.09], 95 %; FASTER") < page.index('id="gained-title"')
    assert page.index('class="banner"') < page.index('id="answer"')
    assert 'class="banner"' not in report_page(StudyView.of(sample_events()))


def test_every_part_is_there(whole: str):
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", whole)
    expected = [
        "The answer",
        "Where the speedup comes from",
        "Speed against accuracy",
        "Learning curves",
        "Every trial",
    ]
    assert [title for title in titles if title in expected] == expected
    assert titles[-3:] == ["How it was measured", "How to reproduce it", "Left out of the search"]
    text = text_of(whole)
    for words in ("fingerprint 5f1c", "model=cifar_mlp hw=rtx3090", "batch sizes above 512", "36 pairs of blocks"):
        assert words in text
    assert "_target_: autotune.models.cifar.mlp" in whole


def test_another_objective_leads_with_its_own_figure():
    text = text_of(report_page(StudyView.of(sample_events(objective="energy"))))
    assert "Energy against accuracy" in text
    assert "4.04x [3.94, 4.14], 95 %; BETTER" in text
    assert text.index("4.04x [3.94") < text.index("5.94x [5.80")


def test_who_keeps_the_baseline_is_told_why_and_gets_no_large_figure():
    page = report_page(StudyView.of(sample_events(winner=False)))
    assert 'class="tile' not in page
    assert "Keep the float32 baseline" in text_of(page)
    assert "accuracy FAIL -1.86 pp" in text_of(page)


def test_a_study_that_ended_before_its_baseline_has_no_plot_says_why_and_is_small():
    events = sample_events()
    page = report_page(StudyView.of(events[:4]))
    assert "There is no plot: the study ended before its baseline was both timed and trained" in text_of(page)
    assert "unfinished: the record ends before its first stage" in text_of(page)
    assert len(page) < 100_000, "nothing to plot, nothing to plot with"
    Outline(page)


def test_an_empty_record_has_a_page_too():
    page = report_page(StudyView())
    assert "No answer" in text_of(page)
    assert "No trial was begun." in text_of(page)
    Outline(page)


@pytest.mark.parametrize("share", [0.2, 0.4, 0.6, 0.8, 0.95])
def test_a_study_cut_anywhere_has_a_page_that_says_it_is_unfinished(share: float):
    events = sample_events()
    page = report_page(StudyView.of(events[: int(share * len(events))]))
    Outline(page)
    assert "unfinished: the record ends in its stage" in text_of(page)
