"""Addresses of pages in MLflow's UI, below the server's own; they hold in its texts as in a browser. Pure.

Seen in MLflow 3.17. A version that does not know one of the parameters shows the page without it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from urllib.parse import quote, urlencode

SHARE_KEY = "viewStateShareKey"
"""The parameter that names a view which an experiment's tags hold (see `saved_views`)."""

_SIDE = {"workflowType": "machine_learning"}
"""Else the UI shows the side of it that is for language models to whoever comes for the first time."""

REPORT = "report/report.html"
_PICTURE = "report/tradeoff.png"


def run_page(experiment_id: str, run_id: str) -> str:
    """A run: its description, metrics, parameters and tags."""
    return f"#/experiments/{experiment_id}/runs/{run_id}?{urlencode(_SIDE)}"


def artifact_page(experiment_id: str, run_id: str, name: str) -> str:
    """A run's artifact, shown."""
    return f"#/experiments/{experiment_id}/runs/{run_id}/artifacts/{quote(name)}?{urlencode(_SIDE)}"


def runs_page(experiment_id: str, view: str, *, charts: bool) -> str:
    """An experiment's runs in one of our views, as a table or as charts."""
    mode = {"compareRunsMode": "CHART"} if charts else {}
    return f"#/experiments/{experiment_id}/runs?{urlencode({SHARE_KEY: view} | mode | _SIDE)}"


def trials_page(experiment_id: str, study: str) -> str:
    """The trials of one study as a table, fastest first, in whatever columns the reader has chosen."""
    order = {"orderByKey": "metrics.`screen_speedup`", "orderByAsc": "false"}
    mode = {"compareRunsMode": "TABLE"}
    return f"#/experiments/{experiment_id}/runs?{urlencode({'searchFilter': of_study(study)} | order | mode | _SIDE)}"


def of_study(study: str) -> str:
    """The condition that a study's trials fulfil, in the language of MLflow's search."""
    return f"tags.study = {_quoted(study)} and tags.role != 'study'"


def of_sweep(sweep: str) -> str:
    """The condition that the studies of a multirun fulfil."""
    return f"tags.sweep = {_quoted(sweep)} and tags.role = 'study'"


def several_page(experiment_ids: Iterable[str], condition: str) -> str:
    """Runs of several experiments that fulfil a condition, such as the studies of a multirun."""
    asked = {"experiments": json.dumps(list(experiment_ids)), "searchFilter": condition} | _SIDE
    return f"#/compare-experiments/s?{urlencode(asked, quote_via=quote)}"


def file_address(run_id: str, name: str) -> str:
    """An artifact's content."""
    return f"get-artifact?{urlencode({'path': name, 'run_uuid': run_id})}"


def described(note: str, experiment_id: str, run_id: str, study: str, files: Collection[str]) -> str:
    """A study's description with the way to its pages below its headline, and the picture of the trade-off.

    Args:
        note: Markdown; its first line is the headline.
        study: its name, as its runs' tags have it.
        files: names of the study's artifacts.
    """
    links = [f"[its trials]({trials_page(experiment_id, study)})"]
    if REPORT in files:
        links.insert(0, f"[the report]({artifact_page(experiment_id, run_id, REPORT)})")
    headline, _, rest = note.partition("\n")  # the page folds all but the first lines
    lines = [headline, "", f"Open {', '.join(links)}.", ""]
    if _PICTURE in files:
        lines += [f"![speed against accuracy]({file_address(run_id, _PICTURE)})", ""]
    return "\n".join([*lines, rest.lstrip("\n")])


def _quoted(text: str) -> str:
    quotes = '"' if "'" in text else "'"
    return f"{quotes}{text}{quotes}"
