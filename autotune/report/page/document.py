"""The page: one file that holds its style and scripts, asks nobody for anything, and can be read without scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib import resources

from autotune.record.view import StudyView
from autotune.report import phrases
from autotune.report.answer import answer
from autotune.report.page.answer import answer_section, banner, gained_section
from autotune.report.page.curves import curves_section
from autotune.report.page.markup import Html, esc, join, tag
from autotune.report.page.method import (
    findings_section,
    left_out_section,
    method_section,
    predicted_section,
    reproduce_section,
)
from autotune.report.page.roofline import roofline_section
from autotune.report.page.tradeoff import tradeoff_section
from autotune.report.page.trials import trials_section

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#answer">Skip to the answer</a>
<header>
<div>
<p class="over">{over}</p>
<h1>{headline}</h1>
</div>
<button type="button" id="theme" class="controls" aria-pressed="false">Dark</button>
</header>
{nav}
<main>
{banner}
{sections}
</main>
<footer>{footer}</footer>
<noscript><p class="missing">Plots, sorting and the choice of a theme need JavaScript.
The data of each plot is in a table below it.</p></noscript>
{scripts}
</body>
</html>
"""

_HEADING = re.compile(r'<section id="([\w-]+)"[^>]*>\n<h2[^>]*>(.*?)</h2>')
_PLOTS = 'class="plot"'


def report_page(view: StudyView, remarks: Sequence[str] = ()) -> str:
    """The whole page; every text of a person's own is escaped.

    Args:
        view: a study in whatever state.
        remarks: what a reader must know beside the record, one line each.
    """
    result = answer(view)
    sections = join(
        (
            answer_section(view, result),
            gained_section(view),
            tradeoff_section(view),
            curves_section(view),
            roofline_section(view),
            trials_section(view),
            predicted_section(view),
            findings_section(view),
            method_section(view),
            reproduce_section(view),
            left_out_section(view),
        )
    )
    scripts = _scripts(with_plots=_PLOTS in sections)
    return _PAGE.format(
        policy=_policy(scripts),
        title=esc(f"{phrases.model_name(view)}: {result.headline}"),
        style=_resource("report.css"),
        over=_over(view),
        headline=esc(result.headline),
        nav=_nav(sections),
        banner=banner(view, result, remarks),
        sections=sections,
        footer=_footer(view),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _over(view: StudyView) -> Html:
    if view.started is None:
        return esc(phrases.model_name(view))
    return esc(f"{phrases.model_name(view)} on {phrases.place(view.started.device)}, study {view.started.study}")


def _nav(sections: str) -> Html:
    """Links to what the page has."""
    links = join(
        (Html(f'<li><a href="#{ident}">{title}</a></li>') for ident, title in _HEADING.findall(sections)), "\n"
    )
    return tag("nav", Html(f"<ul>\n{links}\n</ul>"), aria_label="parts of this report", class_="controls")


def _footer(view: StudyView) -> Html:
    version = view.started.versions.get("autotune-keras") if view.started is not None else None
    made = f"Made by autotune {version} " if version else "Made by autotune "
    return tag("p", f"{made}from record.jsonl alone: every figure was measured, or is called predicted.")


def _scripts(*, with_plots: bool) -> list[str]:
    """Plotly once, if there is anything to plot, and the page's own."""
    scripts = [_resource("report.js")]
    if with_plots:
        from plotly.offline import get_plotlyjs

        scripts.insert(0, get_plotlyjs())
    return [script.replace("</script", "<\\/script") for script in scripts]


def _policy(scripts: Sequence[str]) -> str:
    """These scripts run and no other; nothing is fetched."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
